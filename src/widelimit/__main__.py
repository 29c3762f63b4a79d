"""``python -m widelimit`` is the command ``widelimit``, of the Python that is asked."""

from widelimit.interfaces.entry import main

if __name__ == "__main__":
    main()
