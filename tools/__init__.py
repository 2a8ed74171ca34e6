"""Tools of the repository: mutants and fuzzing. They are not part of the package."""
