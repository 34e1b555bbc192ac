//! The real program in processes of its own, each test on data folders of its own.

#[cfg(unix)]
#[cfg(test)]
mod backup;
#[cfg(unix)]
#[cfg(test)]
mod calls;
#[cfg(unix)]
#[cfg(test)]
mod device;
#[cfg(unix)]
#[cfg(test)]
mod serve;
#[cfg(test)]
mod support;
#[cfg(test)]
mod usage;
