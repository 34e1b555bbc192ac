//! Tests of the SDK against a scripted gateway, written from the protocol document alone.

#[cfg(test)]
mod app_providers;
#[cfg(test)]
mod calls;
#[cfg(test)]
mod connection;
#[cfg(test)]
mod gateway;
#[cfg(test)]
mod pairing;
#[cfg(test)]
mod resume;
