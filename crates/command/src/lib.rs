//! A fixed program, run without a shell for one call: how it is defined in a file, how arguments become its
//! `argv`, its process group and how that ends, what it wrote.
