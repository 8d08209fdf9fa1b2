"""Package of the record's site: a folder of reports, read strictly, as static pages."""
