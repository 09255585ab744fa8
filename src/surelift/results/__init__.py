"""What every question answers: fields, a sentence, a table, a figure."""
