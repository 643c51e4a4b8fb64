//! The names of a client, from its certificate.

/// What a client's certificate calls it: the common name of its subject, and its DNS names. Who showed no certificate has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientNames(Vec<String>);

impl ClientNames {
    /// Names of a client, for who has them otherwise.
    pub fn new(names: impl IntoIterator<Item = String>) -> ClientNames {
        ClientNames(names.into_iter().collect())
    }

    /// Whether this is one of them.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|own| own == name)
    }

    /// The first of them, for a log.
    pub fn first(&self) -> Option<&str> {
        self.0.first().map(String::as_str)
    }
}

#[cfg(feature = "rustls")]
mod read {
    use super::ClientNames;
    use der::asn1::{AnyRef, ObjectIdentifier};
    use der::{Decode, Reader, SliceReader, Tag, Tagged};
    use rustls::pki_types::CertificateDer;
    use webpki::EndEntityCert;

    /// The attribute of a subject that is its common name.
    const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");

    impl ClientNames {
        /// The names in a certificate, which is believed.
        pub(crate) fn of(certificate: &CertificateDer<'_>) -> ClientNames {
            let Ok(certificate) = EndEntityCert::try_from(certificate) else {
                return ClientNames::default();
            };
            let mut names = Vec::new();
            // A subject that is no list of names has none; what stood before it counts.
            let _ = common_names(certificate.subject(), &mut names);
            names.extend(certificate.valid_dns_names().map(str::to_owned));
            ClientNames(names)
        }
    }

    /// The common names of a subject, which is a sequence of sets of pairs.
    fn common_names(subject: &[u8], names: &mut Vec<String>) -> der::Result<()> {
        let mut sets = SliceReader::new(subject)?;
        while !sets.is_finished() {
            let mut pairs = SliceReader::new(AnyRef::decode(&mut sets)?.value())?;
            while !pairs.is_finished() {
                let mut pair = SliceReader::new(AnyRef::decode(&mut pairs)?.value())?;
                let kind = ObjectIdentifier::decode(&mut pair)?;
                let value = AnyRef::decode(&mut pair)?;
                let is_text =
                    matches!(value.tag(), Tag::Utf8String | Tag::PrintableString | Tag::Ia5String);
                if kind == COMMON_NAME
                    && is_text
                    && let Ok(name) = std::str::from_utf8(value.value())
                {
                    names.push(name.to_owned());
                }
            }
        }
        Ok(())
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        /// A subject of a country, an organisation of the same bytes as a name, and two common names.
        #[test]
        fn a_subject_s_common_names_are_read_and_nothing_else() {
            let pair = |attribute: u8, tag: u8, text: &[u8]| {
                let mut pair = vec![6, 3, 0x55, 4, attribute, tag, text.len() as u8];
                pair.extend(text);
                let sequence = [vec![0x30, pair.len() as u8], pair].concat();
                [vec![0x31, sequence.len() as u8], sequence].concat()
            };
            let subject = [
                pair(6, 0x13, b"DE"),
                pair(10, 0x0c, b"vm1"),
                pair(3, 0x0c, b"vm2"),
                pair(3, 0x13, b"backup"),
            ]
            .concat();
            let mut names = Vec::new();
            common_names(&subject, &mut names).expect("it is well formed");
            assert_eq!(names, ["vm2", "backup"]);
            for end in 0..subject.len() {
                // Cut anywhere it is refused, or has fewer; it never panics.
                let _ = common_names(&subject[..end], &mut Vec::new());
            }
        }
    }
}
