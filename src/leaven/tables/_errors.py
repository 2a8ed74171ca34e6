"""The error of a table that cannot be used."""

from __future__ import annotations


class TableError(ValueError):
    """A table, a column or a path is not usable; the message says why and what to do.

    The message is one line: the command line prints it and exits with code 2.

    Parameters
    ----------
    message : str
        What is wrong.
    advice : tuple of three str, optional
        What to do, as words, the name of a parameter and the value to give it: it is
        ``missing='NA'`` in Python and ``--missing 'NA'`` on the command line.
    """

    def __init__(self, message: str, advice: tuple[str, str, str] | None = None) -> None:
        self.message = " ".join(message.split())
        self.advice = advice
        super().__init__(self.message, advice)

    def __str__(self) -> str:
        if self.advice is None:
            return self.message
        words, name, value = self.advice
        return f"{self.message} {words} {name}={value!r}."

    def for_command_line(self) -> str:
        """Return the message with the parameter as an option of the command."""
        if self.advice is None:
            return self.message
        words, name, value = self.advice
        # The shell has no escapes in quotes: a tab is given by its name.
        return f"{self.message} {words} --{name} {'tab' if value == chr(9) else repr(value)}."
