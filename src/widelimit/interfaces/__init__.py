"""8. Skins without physics: command line and figures."""
