"""Front doors for programs that were written for other toolkits."""
