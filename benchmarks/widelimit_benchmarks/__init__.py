"""Our speed beside what a user would write instead, measured in one run (behind ``widelimit bench``)."""
