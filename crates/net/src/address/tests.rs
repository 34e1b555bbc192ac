use proptest::prelude::*;

use super::*;

fn judged(text: &str) -> Option<SpecialPurpose> {
    special_purpose(text.parse().unwrap_or_else(|_| panic!("{text} is not an address")))
}

/// The table is derived from IANA's "IPv4 Special-Purpose Address Registry" and "IPv6 Special-Purpose Address
/// Registry" (first and last address of blocks, and their neighbours), the IPv4 and IPv6 address space
/// registries, and the clouds' manuals for their metadata services.
#[test]
fn addresses_are_classified_by_the_iana_registries_e11() {
    use SpecialPurpose::*;
    let table: &[(&str, Option<SpecialPurpose>)] = &[
        // IPv4: the blocks and their edges.
        ("0.0.0.0", Some(Unspecified)),
        ("0.255.255.255", Some(Unspecified)),
        ("1.0.0.0", None),
        ("9.255.255.255", None),
        ("10.0.0.0", Some(Private)),
        ("10.255.255.255", Some(Private)),
        ("11.0.0.0", None),
        ("100.63.255.255", None),
        ("100.64.0.0", Some(Shared)),
        ("100.127.255.255", Some(Shared)),
        ("100.128.0.0", None),
        ("126.255.255.255", None),
        ("127.0.0.0", Some(Loopback)),
        ("127.0.0.1", Some(Loopback)),
        ("127.255.255.255", Some(Loopback)),
        ("128.0.0.0", None),
        ("169.253.255.255", None),
        ("169.254.0.0", Some(LinkLocal)),
        ("169.254.255.255", Some(LinkLocal)),
        ("169.255.0.0", None),
        ("172.15.255.255", None),
        ("172.16.0.0", Some(Private)),
        ("172.31.255.255", Some(Private)),
        ("172.32.0.0", None),
        ("191.255.255.255", None),
        ("192.0.0.0", Some(Reserved)),
        ("192.0.0.8", Some(Reserved)),
        ("192.0.0.170", Some(Reserved)),
        ("192.0.0.255", Some(Reserved)),
        ("192.0.1.0", None),
        ("192.0.2.0", Some(Documentation)),
        ("192.0.2.255", Some(Documentation)),
        ("192.0.3.0", None),
        ("192.88.99.1", Some(Reserved)),
        ("192.88.100.0", None),
        ("192.167.255.255", None),
        ("192.168.0.0", Some(Private)),
        ("192.168.255.255", Some(Private)),
        ("192.169.0.0", None),
        ("198.17.255.255", None),
        ("198.18.0.0", Some(Benchmarking)),
        ("198.19.255.255", Some(Benchmarking)),
        ("198.20.0.0", None),
        ("198.51.100.7", Some(Documentation)),
        ("203.0.113.7", Some(Documentation)),
        ("203.0.114.0", None),
        ("223.255.255.255", None),
        ("224.0.0.0", Some(Multicast)),
        ("239.255.255.255", Some(Multicast)),
        ("240.0.0.0", Some(Reserved)),
        ("255.255.255.254", Some(Reserved)),
        ("255.255.255.255", Some(Broadcast)),
        // Metadata services.
        ("169.254.169.254", Some(Metadata)),
        ("169.254.170.2", Some(Metadata)),
        ("100.100.100.200", Some(Metadata)),
        ("168.63.129.16", Some(Metadata)),
        ("192.0.0.192", Some(Metadata)),
        ("fd00:ec2::254", Some(Metadata)),
        ("fd20:ce::254", Some(Metadata)),
        ("fe80::a9fe:a9fe", Some(Metadata)),
        // IPv6: the blocks.
        ("::", Some(Unspecified)),
        ("::1", Some(Loopback)),
        ("100::1", Some(Reserved)),
        ("100:0:0:1::1", Some(Reserved)),
        ("1fff:ffff::1", Some(Reserved)),
        ("2000::1", None),
        ("2001:1::1", Some(Reserved)),
        ("2001:2::1", Some(Benchmarking)),
        ("2001:2:1::1", Some(Reserved)),
        ("2001:10::1", Some(Reserved)),
        ("2001:20::1", Some(Reserved)),
        ("2001:1ff:ffff::1", Some(Reserved)),
        ("2001:200::1", None),
        ("2001:db7:ffff::1", None),
        ("2001:db8::1", Some(Documentation)),
        ("2001:db9::1", None),
        ("2606:4700:4700::1111", None),
        ("2a00:1450:4001::200e", None),
        ("3ffe:ffff::1", None),
        ("3fff::1", Some(Documentation)),
        ("3fff:fff:ffff::1", Some(Documentation)),
        ("3fff:1000::1", None),
        ("4000::1", Some(Reserved)),
        ("5f00::1", Some(Reserved)),
        ("fbff::1", Some(Reserved)),
        ("fc00::1", Some(Private)),
        ("fd12:3456:789a::1", Some(Private)),
        ("fe00::1", Some(Reserved)),
        ("fe80::1", Some(LinkLocal)),
        ("febf:ffff::1", Some(LinkLocal)),
        ("fec0::1", Some(Private)),
        ("feff::1", Some(Private)),
        ("ff02::1", Some(Multicast)),
        ("ff0e::1", Some(Multicast)),
        // IPv4 inside IPv6. Mapped:
        ("::ffff:127.0.0.1", Some(Loopback)),
        ("::ffff:a00:1", Some(Private)),
        ("::ffff:169.254.169.254", Some(Metadata)),
        ("::ffff:1.1.1.1", None),
        // Compatible, translated (SIIT):
        ("::127.0.0.1", Some(Loopback)),
        ("::1.1.1.1", Some(Translated)),
        ("::2", Some(Unspecified)),
        ("::ffff:0:10.0.0.1", Some(Private)),
        ("::ffff:0:1.1.1.1", Some(Translated)),
        // NAT64, well-known prefix and local ones:
        ("64:ff9b::10.0.0.1", Some(Private)),
        ("64:ff9b::127.0.0.1", Some(Loopback)),
        ("64:ff9b::169.254.169.254", Some(Metadata)),
        ("64:ff9b::1.1.1.1", None),
        ("64:ff9b::1:1.1.1.1", Some(Reserved)),
        ("64:ff9b:1::1.1.1.1", Some(Unspecified)),
        ("64:ff9b:1:a9fe:a9:fe00::", Some(Metadata)),
        ("64:ff9b:1:101:1:100:101:101", Some(Translated)),
        // 6to4 of 10.0.0.1 and of 1.1.1.1; Teredo with the client 10.0.0.1, and with public addresses only:
        ("2002:a00:1::1", Some(Private)),
        ("2002:a9fe:a9fe::", Some(Metadata)),
        ("2002:101:101::1", Some(Translated)),
        ("2001:0:4136:e378:8000:63bf:f5ff:fffe", Some(Private)),
        ("2001:0:7f00:1:8000:63bf:3fff:fdd2", Some(Loopback)),
        ("2001:0:4136:e378:8000:63bf:fefe:fefe", Some(Translated)),
        // ISATAP with a public prefix, with 192.168.0.1 and with 1.1.1.1:
        ("2606:4700::5efe:c0a8:1", Some(Private)),
        ("2606:4700::200:5efe:101:101", None),
    ];
    for (text, expected) in table {
        assert_eq!(judged(text), *expected, "{text}");
    }
    assert!(table.len() >= 100);
}

#[test]
fn names_of_metadata_services_and_of_this_computer() {
    assert!(is_metadata_name("metadata.google.internal"));
    assert!(!is_metadata_name("my-metadata.google.internal.example.org"));
    assert!(is_localhost("localhost") && is_localhost("a.b.localhost"));
    assert!(!is_localhost("notlocalhost") && !is_localhost("localhost.example.org"));
}

/// Generates addresses in blocks that are not public.
fn hidden_v4() -> impl Strategy<Value = Ipv4Addr> {
    (0..IPV4.len(), any::<u32>()).prop_map(|(at, bits)| {
        let net = IPV4[at].0;
        Ipv4Addr::from_bits(net.network().to_bits() | bits & net.hostmask().to_bits())
    })
}

proptest! {
    #[test]
    fn no_ipv6_form_of_a_private_ipv4_address_is_allowed_e11(
        hidden in hidden_v4(),
        low in any::<u64>(),
        other in any::<u32>(),
        flags in any::<u16>(),
        public in 0x2000u16..0x4000,
    ) {
        let v4 = u128::from(hidden.to_bits());
        let (low, other, flags) = (u128::from(low), u128::from(other), u128::from(flags));
        let [a, b, c, d] = hidden.octets().map(u128::from);
        let forms = [
            0xffff << 32 | v4,                                                  // mapped
            v4,                                                                 // compatible
            0xffff << 48 | v4,                                                  // SIIT
            0x0064_ff9b << 96 | v4,                                             // NAT64
            0x0064_ff9b_0001 << 80 | low << 32 & (u128::MAX >> 48) | v4,        // NAT64, local, 96 bits
            0x0064_ff9b_0001 << 80 | a << 72 | b << 64 | c << 48 | d << 40,     // NAT64, local, 48 bits
            0x2002 << 112 | v4 << 80 | low,                                     // 6to4
            0x2001_0000 << 96 | v4 << 64 | flags << 48 | low & 0xffff_ffff_ffff, // Teredo, server
            0x2001_0000 << 96 | other << 64 | flags << 48 | !v4 & 0xffff_ffff,  // Teredo, client
            u128::from(public) << 112 | other << 64 | 0x0000_5efe << 32 | v4,   // ISATAP
            u128::from(public) << 112 | other << 64 | 0x0200_5efe << 32 | v4,   // ISATAP, unique
        ];
        prop_assert!(special_purpose(IpAddr::V4(hidden)).is_some());
        for form in forms {
            let form = Ipv6Addr::from_bits(form);
            prop_assert!(special_purpose(IpAddr::V6(form)).is_some(), "{form} for {hidden}");
        }
    }

    #[test]
    fn outside_global_unicast_only_embedded_public_addresses_are_allowed_e11(bits in any::<u128>()) {
        let address = Ipv6Addr::from_bits(bits);
        if special_purpose(IpAddr::V6(address)).is_none() {
            let mapped = address.to_ipv4_mapped().is_some();
            prop_assert!(mapped || NAT64.contains(&address) || GLOBAL_UNICAST.contains(&address), "{address}");
        }
    }
}
