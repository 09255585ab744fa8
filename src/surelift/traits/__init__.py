"""What a log is: one trait in each of five slots, and one file for each trait."""
