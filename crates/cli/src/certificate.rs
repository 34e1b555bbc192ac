//! Reads the validity period of a certificate. Parses only the few fields before the dates (RFC 5280, 4.1).

use std::path::Path;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// Validity period of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CertificateValidity {
    /// Start (`notBefore`).
    pub(crate) from: Timestamp,
    /// End (`notAfter`).
    pub(crate) to: Timestamp,
}

const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// Returns the validity of the first certificate in a PEM file, or a reason for people.
pub(crate) fn validity_of_file(path: &Path) -> Result<CertificateValidity, String> {
    let certificate = CertificateDer::from_pem_file(path).map_err(|error| error.to_string())?;
    validity(&certificate).ok_or_else(|| "the certificate has no readable dates".to_owned())
}

fn validity(certificate: &[u8]) -> Option<CertificateValidity> {
    let (_, whole, _) = read_field(certificate)?;
    let (_, mut fields, _) = read_field(whole)?;
    if let Some((VERSION, _, rest)) = read_field(fields) {
        fields = rest;
    }
    // Serial number, algorithm, issuer.
    for _ in 0..3 {
        (_, _, fields) = read_field(fields)?;
    }
    let (SEQUENCE, dates, _) = read_field(fields)? else { return None };
    let (kind, from, rest) = read_field(dates)?;
    let from = parse_time(kind, from)?;
    let (kind, to, _) = read_field(rest)?;
    Some(CertificateValidity { from, to: parse_time(kind, to)? })
}

/// Splits the first DER field: its tag, its content and the bytes after it.
fn read_field(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = bytes.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(*first), rest),
        // The low bits give the number of length bytes. 0x80 (indefinite length) does not exist in DER.
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (digits.iter().fold(0, |sum, digit| (sum << 8) | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((*tag, content, rest))
}

fn parse_time(kind: u8, text: &[u8]) -> Option<Timestamp> {
    let text = std::str::from_utf8(text).ok()?;
    let text = match kind {
        // The year has two digits: 1950 to 2049.
        UTC_TIME => {
            let year: u8 = text.get(..2)?.parse().ok()?;
            format!("{}{text}", if year < 50 { "20" } else { "19" })
        }
        GENERALIZED_TIME => text.to_owned(),
        _ => return None,
    };
    let local = DateTime::strptime("%Y%m%d%H%M%SZ", &text).ok()?;
    TimeZone::UTC.to_timestamp(local).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_date_formats_are_parsed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cert.pem");
        for (from, to) in
            [((2020, 1, 1), (2049, 12, 31)), ((1999, 6, 5), (2000, 2, 29)), ((2030, 1, 1), (2075, 7, 8))]
        {
            let mut params = rcgen::CertificateParams::new(vec!["x.example".to_owned()]).unwrap();
            params.not_before = rcgen::date_time_ymd(from.0, from.1, from.2);
            params.not_after = rcgen::date_time_ymd(to.0, to.1, to.2);
            let key = rcgen::KeyPair::generate().unwrap();
            std::fs::write(&path, params.self_signed(&key).unwrap().pem()).unwrap();
            let found = validity_of_file(&path).unwrap();
            let day = |(year, month, day): (i32, u8, u8)| format!("{year:04}-{month:02}-{day:02}T00:00:00Z");
            assert_eq!((found.from.to_string(), found.to.to_string()), (day(from), day(to)));
        }
    }

    #[test]
    fn invalid_certificates_are_rejected() {
        for length in 0..64 {
            assert_eq!(validity(&vec![0x30; length]), None);
            assert_eq!(validity(&vec![0xff; length]), None);
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cert.pem");
        std::fs::write(&path, "no certificate").unwrap();
        assert!(validity_of_file(&path).is_err());
    }
}
