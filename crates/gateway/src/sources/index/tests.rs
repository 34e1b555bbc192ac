use super::*;
use crate::sources::device_source::DeviceSourceState;

fn add(index: &mut SourceIndex, slug: &Slug) {
    let state = DeviceSourceState::default();
    index.add(DeviceSource::new(slug.clone(), PrincipalId::from("t"), None, None, state));
}

/// The search without a memory.
fn first_free(index: &SourceIndex, label: &str) -> Slug {
    let plain = Slug::from_label(label);
    let numbered = (2..).map(|number| plain.with_number(number));
    std::iter::once(plain.clone()).chain(numbered).find(|slug| !index.is_taken(slug)).unwrap()
}

proptest::proptest! {
    #[test]
    fn a_free_slug_is_always_the_first_one_that_no_source_has_or_had(
        steps in proptest::collection::vec((0..4_usize, 0..40_usize, proptest::bool::ANY), 1..200),
    ) {
        // The number of the longest name takes the place of its end.
        let labels = ["pixel", "pixel 2", "a name that is as long as it may be", "a name that is as long as other"];
        let mut index = SourceIndex::default();
        let mut slugs = Vec::new();
        for (label, removed, is_stored) in steps {
            let label = labels[label];
            let expected = first_free(&index, label);
            let slug = index.free_slug(label);
            assert_eq!(slug, expected);
            add(&mut index, &slug);
            slugs.push(slug);
            if removed < slugs.len() {
                index.remove(&slugs.swap_remove(removed), is_stored);
            }
        }
    }
}

#[test]
fn thousands_of_devices_of_one_name_get_their_slugs_without_a_search_from_the_start() {
    let mut index = SourceIndex::default();
    for number in 1..5000 {
        let slug = index.free_slug("Pixel 8");
        let expected = if number == 1 { "pixel-8".to_owned() } else { format!("pixel-8-{number}") };
        assert_eq!(slug.as_str(), expected);
        add(&mut index, &slug);
        assert!(number < 3 || index.first_numbers.values().eq([&number]), "{:?}", index.first_numbers);
    }
}
