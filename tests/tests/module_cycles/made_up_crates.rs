//! The check itself, on small crates made for it.

use crate::graph::{Cycle, cycles};
use crate::tree::{ModuleTree, Place};

/// The cycles of a crate with these files, as `parent: one -> other (file:line), …`.
fn cycles_of(files: &[(&str, &str)]) -> Vec<String> {
    let sources = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    let found = cycles(&ModuleTree::read(&sources, "lib.rs"), |_, _, _| false);
    let edge = |((from, to), places): (&(String, String), &Vec<Place>)| {
        let places: Vec<_> = places.iter().map(|place| format!("{}:{}", place.file, place.line)).collect();
        format!("{from} -> {to} ({})", places.join(" "))
    };
    let cycle = |cycle: &Cycle| {
        let edges: Vec<_> = cycle.edges.iter().map(edge).collect();
        format!("{}: {}", cycle.parent.join("::"), edges.join(", "))
    };
    found.iter().map(cycle).collect()
}

#[test]
fn two_modules_that_import_each_other_are_found_with_file_and_line() {
    let found = cycles_of(&[
        ("lib.rs", "mod one;\nmod other;"),
        ("one.rs", "\nuse crate::other::Item;"),
        ("other.rs", "pub struct Item;\nfn call() { super::one::run(); }"),
    ]);
    assert_eq!(found, [": one -> other (one.rs:2), other -> one (other.rs:2)"]);
}

#[test]
fn modules_that_import_in_one_direction_are_no_cycle() {
    let found = cycles_of(&[
        ("lib.rs", "mod one;\nmod other;\npub use one::Item;"),
        ("one.rs", "pub struct Item;"),
        ("other.rs", "use crate::{one::{self, Item}};"),
    ]);
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn a_cycle_through_a_third_module_is_found() {
    let found = cycles_of(&[
        ("lib.rs", "mod a;\nmod b;\nmod c;\nmod free;"),
        ("a.rs", "use crate::b::B;"),
        ("b.rs", "use crate::{c::{C, D as E}, free};"),
        ("c.rs", "type A = crate::a::A;"),
        ("free.rs", ""),
    ]);
    assert_eq!(found, [": a -> b (a.rs:1), b -> c (b.rs:1), c -> a (c.rs:1)"]);
}

#[test]
fn modules_of_a_deeper_level_are_compared_with_their_siblings() {
    let found = cycles_of(&[
        ("lib.rs", "mod top;"),
        ("top.rs", "mod one; mod other { mod inner { use super::super::one::Item; } }"),
        ("top/one/mod.rs", "mod part;"),
        ("top/one/part.rs", "use crate::top::other::inner;"),
    ]);
    assert_eq!(found, ["top: one -> other (top/one/part.rs:1), other -> one (top.rs:1)"]);
}

#[test]
fn a_module_and_its_children_may_name_each_other() {
    let found = cycles_of(&[
        ("lib.rs", "mod parent;\nuse parent::Item;\npub struct Root;"),
        ("parent.rs", "mod child;\npub use child::Part;\npub struct Item;\nuse crate::Root;"),
        ("parent/child.rs", "use super::Item;\npub struct Part(Item, crate::Root);"),
    ]);
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn an_item_that_the_parent_exports_belongs_to_the_module_that_defines_it() {
    let found = cycles_of(&[
        ("lib.rs", "mod one;\nmod other;\nmod wide;\npub use one::One;\npub use wide::*;"),
        ("one.rs", "pub struct One;\nuse crate::Other;\nuse crate::outer;"),
        ("other.rs", "use crate::One;"),
        ("wide.rs", "pub use crate::other::Other;\npub use std::outer;"),
    ]);
    assert_eq!(
        found,
        [
            ": one -> other (one.rs:2), one -> wide (one.rs:3), other -> one (other.rs:1), wide -> other (wide.rs:1)"
        ]
    );
}

#[test]
fn tests_comments_and_texts_do_not_count() {
    let found = cycles_of(&[
        ("lib.rs", "mod one;\nmod other;"),
        ("one.rs", "use crate::other::Item;"),
        (
            "other.rs",
            r##"
            //! See [`crate::one::run`].
            /* crate::one::run /* and */ again */
            #[cfg(test)]
            mod tests;
            #[cfg(test)]
            #[allow(unused)]
            use crate::one::{run, Other};
            #[cfg(any(test, feature = "testkit"))]
            pub fn of_tests<A, B>() -> [u8; 2] { crate::one::run() }
            struct Fields { #[cfg(test)] one: crate::one::One, other: u8 }
            const TEXT: &str = "a \" crate::one::run";
            const RAW: &str = r#"" crate::one::run"#;
            const QUOTES: (char, char, u8) = ('"', '\'', b'"');
            fn lifetime<'a>(it: &'a str) -> &'a str { it }
            pub struct Item;
            "##,
        ),
        ("other/tests.rs", "use crate::one::run;"),
    ]);
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn code_that_is_left_out_of_tests_counts() {
    let found = cycles_of(&[
        ("lib.rs", "mod one;\nmod other;"),
        ("one.rs", "use crate::other::Item;"),
        ("other.rs", "#[cfg(test)]\nconst A: [u8; 1] = { [1] };\n#[cfg(not(test))]\nuse crate::one::run;"),
    ]);
    assert_eq!(found, [": one -> other (one.rs:1), other -> one (other.rs:4)"]);
}

#[test]
fn attributes_that_name_a_module_and_macros_count() {
    let found = cycles_of(&[
        ("lib.rs", "mod one;\nmod other;"),
        ("one.rs", "struct One {\n#[serde(with = \"crate::other::seconds\")]\nfield: u8 }"),
        ("other.rs", "macro_rules! call { () => { $crate::one::run() } }"),
    ]);
    assert_eq!(found, [": one -> other (one.rs:2), other -> one (other.rs:1)"]);
}

#[test]
fn paths_of_other_crates_are_not_taken_for_modules() {
    let found = cycles_of(&[
        ("lib.rs", "mod http;\nmod other;"),
        ("http.rs", "use crate::other::Item;"),
        ("other.rs", "use ::http::Request;\nfn run(it: http::Request) { it.http::<u8>(); ::http::call(); }"),
    ]);
    assert_eq!(found, Vec::<String>::new());
}
