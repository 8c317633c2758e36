"""`python -m conspectus` is `conspectus`."""

from conspectus.cli import main

if __name__ == "__main__":
    main()
