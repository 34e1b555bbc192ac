//! Classifies addresses by IANA's registries of special-purpose IPv4 and IPv6 addresses (RFC 6890 and its
//! updates). A block counts as not public if a registry says that it is not globally reachable, or does not
//! say. Of IPv6, only global unicast (`2000::/3`) is public.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

/// Purpose of an address that is not public.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpecialPurpose {
    /// Unspecified (`0.0.0.0/8`, `::`); operating systems treat it as this computer.
    Unspecified,
    /// Loopback.
    Loopback,
    /// Private networks, unique local and site-local addresses.
    Private,
    /// Shared address space behind the NAT of a provider (`100.64.0.0/10`).
    Shared,
    /// Link-local.
    LinkLocal,
    /// The metadata service of a cloud, which returns credentials.
    Metadata,
    /// Multicast.
    Multicast,
    /// Broadcast.
    Broadcast,
    /// Documentation examples.
    Documentation,
    /// Benchmarks of network devices.
    Benchmarking,
    /// Reserved by IANA, or unassigned.
    Reserved,
    /// IPv4 embedded in IPv6 (6to4, Teredo, IPv4-compatible, local NAT64, …).
    Translated,
}

impl fmt::Display for SpecialPurpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unspecified => "an unspecified address",
            Self::Loopback => "a loopback address",
            Self::Private => "a private address",
            Self::Shared => "a shared (carrier-grade NAT) address",
            Self::LinkLocal => "a link-local address",
            Self::Metadata => "the address of a cloud's metadata service",
            Self::Multicast => "a multicast address",
            Self::Broadcast => "the broadcast address",
            Self::Documentation => "an address for documentation",
            Self::Benchmarking => "an address for benchmarks",
            Self::Reserved => "a reserved address",
            Self::Translated => "an IPv6 address that stands for an IPv4 address",
        })
    }
}

const fn v4(a: u8, b: u8, c: u8, d: u8, length: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), length)
}

const fn v6(s: [u16; 8], length: u8) -> Ipv6Net {
    let [a, b, c, d, e, f, g, h] = s;
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, d, e, f, g, h), length)
}

/// The first matching block wins.
const IPV4: &[(Ipv4Net, SpecialPurpose)] = &[
    (v4(169, 254, 169, 254, 32), SpecialPurpose::Metadata), // most clouds
    (v4(169, 254, 170, 2, 32), SpecialPurpose::Metadata),   // AWS, tasks in containers
    (v4(169, 254, 170, 23, 32), SpecialPurpose::Metadata),  // AWS, pods
    (v4(169, 254, 0, 23, 32), SpecialPurpose::Metadata),    // Tencent
    (v4(168, 63, 129, 16, 32), SpecialPurpose::Metadata),   // Azure
    (v4(100, 100, 100, 200, 32), SpecialPurpose::Metadata), // Alibaba
    (v4(192, 0, 0, 192, 32), SpecialPurpose::Metadata),     // Oracle
    (v4(0, 0, 0, 0, 8), SpecialPurpose::Unspecified),
    (v4(10, 0, 0, 0, 8), SpecialPurpose::Private),
    (v4(100, 64, 0, 0, 10), SpecialPurpose::Shared),
    (v4(127, 0, 0, 0, 8), SpecialPurpose::Loopback),
    (v4(169, 254, 0, 0, 16), SpecialPurpose::LinkLocal),
    (v4(172, 16, 0, 0, 12), SpecialPurpose::Private),
    (v4(192, 0, 0, 0, 24), SpecialPurpose::Reserved), // protocol assignments; two anycast addresses in it lead to no website
    (v4(192, 0, 2, 0, 24), SpecialPurpose::Documentation),
    (v4(192, 88, 99, 0, 24), SpecialPurpose::Reserved), // 6to4 relays, given up
    (v4(192, 168, 0, 0, 16), SpecialPurpose::Private),
    (v4(198, 18, 0, 0, 15), SpecialPurpose::Benchmarking),
    (v4(198, 51, 100, 0, 24), SpecialPurpose::Documentation),
    (v4(203, 0, 113, 0, 24), SpecialPurpose::Documentation),
    (v4(224, 0, 0, 0, 4), SpecialPurpose::Multicast),
    (v4(255, 255, 255, 255, 32), SpecialPurpose::Broadcast),
    (v4(240, 0, 0, 0, 4), SpecialPurpose::Reserved),
];

const IPV6: &[(Ipv6Net, SpecialPurpose)] = &[
    (v6([0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254], 128), SpecialPurpose::Metadata), // AWS
    (v6([0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0023], 128), SpecialPurpose::Metadata), // AWS, pods
    (v6([0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0x0254], 128), SpecialPurpose::Metadata), // Google
    (v6([0xfe80, 0, 0, 0, 0, 0, 0xa9fe, 0xa9fe], 128), SpecialPurpose::Metadata), // OpenStack
    (v6([0, 0, 0, 0, 0, 0, 0, 0], 128), SpecialPurpose::Unspecified),
    (v6([0, 0, 0, 0, 0, 0, 0, 1], 128), SpecialPurpose::Loopback),
    (v6([0x2001, 0x0002, 0, 0, 0, 0, 0, 0], 48), SpecialPurpose::Benchmarking),
    (v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23), SpecialPurpose::Reserved), // protocol assignments
    (v6([0x2001, 0x0db8, 0, 0, 0, 0, 0, 0], 32), SpecialPurpose::Documentation),
    (v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20), SpecialPurpose::Documentation),
    (v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7), SpecialPurpose::Private),
    (v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10), SpecialPurpose::LinkLocal),
    (v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10), SpecialPurpose::Private),
    (v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8), SpecialPurpose::Multicast),
];

const GLOBAL_UNICAST: Ipv6Net = v6([0x2000, 0, 0, 0, 0, 0, 0, 0], 3);

const COMPATIBLE: Ipv6Net = v6([0, 0, 0, 0, 0, 0, 0, 0], 96);
const SIIT: Ipv6Net = v6([0, 0, 0, 0, 0xffff, 0, 0, 0], 96);
const NAT64: Ipv6Net = v6([0x0064, 0xff9b, 0, 0, 0, 0, 0, 0], 96);
const NAT64_LOCAL: Ipv6Net = v6([0x0064, 0xff9b, 1, 0, 0, 0, 0, 0], 48);
const TEREDO: Ipv6Net = v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 32);
const SIX_TO_FOUR: Ipv6Net = v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16);

/// Returns the purpose of an address that is not public.
#[must_use]
pub fn special_purpose(address: IpAddr) -> Option<SpecialPurpose> {
    match address.to_canonical() {
        IpAddr::V4(address) => special_purpose_v4(address),
        IpAddr::V6(address) => special_purpose_v6(address),
    }
}

fn special_purpose_v4(address: Ipv4Addr) -> Option<SpecialPurpose> {
    IPV4.iter().find(|(net, _)| net.contains(&address)).map(|(_, special)| *special)
}

fn special_purpose_v6(address: Ipv6Addr) -> Option<SpecialPurpose> {
    if let Some((_, special)) = IPV6.iter().find(|(net, _)| net.prefix_len() == 128 && net.contains(&address))
    {
        return Some(*special);
    }
    // An address that embeds an IPv4 address has the purpose of that address. Only the well-known NAT64
    // prefix leads to a public one; other mechanisms are deprecated or have unknown routes.
    if let Some(carried) = embedded_ipv4(address) {
        return match carried.iter().find_map(|inner| special_purpose_v4(*inner)) {
            None if NAT64.contains(&address) => None,
            inner => Some(inner.unwrap_or(SpecialPurpose::Translated)),
        };
    }
    if let Some(inner) = isatap(address).and_then(special_purpose_v4) {
        return Some(inner);
    }
    match IPV6.iter().find(|(net, _)| net.contains(&address)) {
        Some((_, special)) => Some(*special),
        None if GLOBAL_UNICAST.contains(&address) => None,
        None => Some(SpecialPurpose::Reserved),
    }
}

/// Extracts the IPv4 addresses embedded in an address of a transition mechanism.
fn embedded_ipv4(address: Ipv6Addr) -> Option<Vec<Ipv4Addr>> {
    let bits = address.to_bits();
    // The 32 bits that start at this position.
    let at = |start: u32| Ipv4Addr::from_bits(low_half(bits >> (96 - start)));
    let last = at(96);
    Some(if COMPATIBLE.contains(&address) || SIIT.contains(&address) || NAT64.contains(&address) {
        vec![last]
    } else if NAT64_LOCAL.contains(&address) {
        // RFC 6052: after 48 bits, around the zero byte, or at the end of a longer prefix.
        let [_, _, _, _, _, _, a, b, _, c, d, ..] = address.octets();
        vec![Ipv4Addr::new(a, b, c, d), last]
    } else if TEREDO.contains(&address) {
        vec![at(32), Ipv4Addr::from_bits(!last.to_bits())]
    } else if SIX_TO_FOUR.contains(&address) {
        vec![at(16)]
    } else {
        return None;
    })
}

/// Extracts the IPv4 address from an ISATAP interface identifier (RFC 5214), which can have any prefix.
fn isatap(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [.., e, f, g, h] = address.segments();
    matches!((e, f), (0 | 0x0200, 0x5efe)).then(|| Ipv4Addr::from_bits(u32::from(g) << 16 | u32::from(h)))
}

#[expect(clippy::cast_possible_truncation, reason = "the upper bits are what is to go")]
fn low_half(bits: u128) -> u32 {
    bits as u32
}

/// True for a host name of a cloud's metadata service. The name must be lower case without a trailing dot.
#[must_use]
pub fn is_metadata_name(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "metadata",
        "metadata.google.internal",
        "metadata.goog",
        "metadata.azure.internal",
        "metadata.tencentyun.com",
        "instance-data",
        "instance-data.ec2.internal",
    ];
    NAMES.contains(&name)
}

/// True for a name of this computer (RFC 6761). The name must be lower case without a trailing dot.
#[must_use]
pub fn is_localhost(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

#[cfg(test)]
mod tests;
