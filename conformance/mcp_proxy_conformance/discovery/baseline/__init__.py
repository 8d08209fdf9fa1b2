"""Package for recordings of a build's default answers, compared byte by byte with another's."""
