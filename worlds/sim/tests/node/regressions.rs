//! Seeds that once failed, each with its story.
