//! Reads the modules of a crate: their names, what they import, and the paths their code mentions.

use std::collections::{BTreeMap, BTreeSet};

use crate::lexer::{self, Token};
use crate::syntax::{Import, imports, is_test_attribute, leading_path, length_of_item, starts_path};

/// The files below `src`, by their path from there.
pub(crate) type Sources = BTreeMap<String, String>;
/// Names from the crate's root; empty for the root itself.
pub(crate) type ModulePath = Vec<String>;

/// A place in the sources.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) file: String,
    pub(crate) line: usize,
}

#[derive(Debug, Default)]
struct Module {
    items: BTreeSet<String>,
    /// Names that a `use` brings in, with the path it gives.
    imports: BTreeMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
    mentions: Vec<(Vec<String>, Place)>,
}

/// The modules of one crate, without its tests.
#[derive(Debug, Default)]
pub(crate) struct ModuleTree {
    modules: BTreeMap<ModulePath, Module>,
}

/// A stretch of a file that belongs to one module.
struct Stretch<'a> {
    tokens: &'a [Token],
    file: &'a str,
    /// The folder of the files of its child modules.
    folder: String,
}

/// Longer chains of re-exports are circles.
const LONGEST_CHAIN: usize = 20;

impl ModuleTree {
    /// Reads the crate whose root is the file `root`.
    pub(crate) fn read(sources: &Sources, root: &str) -> Self {
        let mut tree = Self::default();
        let folder = root.rsplit_once('/').map(|(folder, _)| format!("{folder}/")).unwrap_or_default();
        tree.read_file(sources, root, folder, Vec::new());
        tree
    }

    /// Every module that another one names, with the place.
    pub(crate) fn mentions(&self) -> impl Iterator<Item = (&ModulePath, ModulePath, &Place)> {
        self.modules.iter().flat_map(move |(path, module)| {
            let mentions = module.mentions.iter();
            mentions.filter_map(move |(named, place)| {
                Some((path, self.resolve(path, named, LONGEST_CHAIN)?, place))
            })
        })
    }

    fn read_file(&mut self, sources: &Sources, file: &str, folder: String, path: ModulePath) {
        let Some(text) = sources.get(file) else { return };
        let tokens = lexer::tokens(text);
        self.read_stretch(sources, &Stretch { tokens: &tokens, file, folder }, path);
    }

    fn read_stretch(&mut self, sources: &Sources, stretch: &Stretch<'_>, path: ModulePath) {
        let tokens = stretch.tokens;
        let text = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
        let mut module = Module::default();
        let (mut at, mut depth) = (0, 0_usize);
        while at < tokens.len() {
            let place = Place { file: stretch.file.to_owned(), line: tokens[at].line };
            match text(at) {
                "#" if is_test_attribute(&tokens[at..]) => {
                    if text(at + 1) == "!" {
                        return; // The whole file is a test.
                    }
                    at += length_of_item(&tokens[at..]);
                    continue;
                }
                "{" => depth += 1,
                "}" => depth = depth.saturating_sub(1),
                "mod" if tokens.get(at + 1).is_some_and(Token::is_word) => {
                    at += self.read_child(sources, stretch, at, &path);
                    continue;
                }
                "use" if text(at + 1) != "<" => {
                    let end = (at..tokens.len()).find(|end| text(*end) == ";").unwrap_or(tokens.len());
                    for import in imports(&tokens[at + 1..end]) {
                        if depth == 0 {
                            module.import(&import);
                        }
                        module.mentions.push((import.path, place.clone()));
                    }
                    at = end;
                    continue;
                }
                "struct" | "enum" | "trait" | "fn" | "const" | "static" | "type" | "union" if depth == 0 => {
                    module.items.insert(text(at + 1).to_owned());
                }
                "macro_rules" => drop(module.items.insert(text(at + 2).to_owned())),
                _ if starts_path(tokens, at) => {
                    let named = leading_path(&tokens[at..]);
                    at += named.len() * 2 - 1;
                    module.mentions.push((named, place));
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
        let known = self.modules.entry(path).or_default();
        known.items.extend(module.items);
        known.imports.extend(module.imports);
        known.globs.extend(module.globs);
        known.mentions.extend(module.mentions);
    }

    /// Reads `mod name;` or `mod name { … }`, and returns the number of its tokens.
    fn read_child(
        &mut self,
        sources: &Sources,
        stretch: &Stretch<'_>,
        at: usize,
        path: &ModulePath,
    ) -> usize {
        let tokens = &stretch.tokens[at..];
        let name = &tokens[1].text;
        let child: ModulePath = path.iter().chain([name]).cloned().collect();
        let folder = format!("{}{name}/", stretch.folder);
        let length = length_of_item(tokens);
        if name == "tests" {
            return length;
        }
        self.modules.entry(child.clone()).or_default();
        if tokens.get(2).is_some_and(|token| token.text == "{") {
            let inside = &tokens[3..length.saturating_sub(1).max(3)];
            self.read_stretch(sources, &Stretch { tokens: inside, file: stretch.file, folder }, child);
        } else {
            let beside = format!("{}{name}.rs", stretch.folder);
            let within = format!("{folder}mod.rs");
            let file = if sources.contains_key(&beside) { beside } else { within };
            self.read_file(sources, &file, folder, child);
        }
        length
    }

    /// The module that defines what `named` means in the module `within`; none if it is another crate's.
    fn resolve(&self, within: &ModulePath, named: &[String], chain: usize) -> Option<ModulePath> {
        let (first, rest) = named.split_first()?;
        match first.as_str() {
            "crate" => self.walk(Vec::new(), rest, chain),
            "self" => self.walk(within.clone(), rest, chain),
            "super" => {
                let mut outer = within.clone();
                outer.pop()?;
                let ups = rest.iter().take_while(|it| *it == "super").count();
                (0..ups).try_for_each(|_| outer.pop().map(drop))?;
                self.walk(outer, &rest[ups..], chain)
            }
            _ if self.defines(within, first) => self.walk(within.clone(), named, chain),
            _ => None,
        }
    }

    fn defines(&self, path: &ModulePath, name: &str) -> bool {
        let Some(module) = self.modules.get(path) else { return false };
        self.child(path, name).is_some() || module.imports.contains_key(name) || module.items.contains(name)
    }

    fn child(&self, path: &ModulePath, name: &str) -> Option<ModulePath> {
        let child: ModulePath = path.iter().cloned().chain([name.to_owned()]).collect();
        self.modules.contains_key(&child).then_some(child)
    }

    /// Follows `rest` from a module, through child modules and re-exports, to the module of the item.
    fn walk(&self, path: ModulePath, rest: &[String], chain: usize) -> Option<ModulePath> {
        let chain = chain.checked_sub(1)?;
        let (Some((name, after)), Some(module)) = (rest.split_first(), self.modules.get(&path)) else {
            return Some(path);
        };
        if let Some(child) = self.child(&path, name) {
            return self.walk(child, after, chain);
        }
        if let Some(import) = module.imports.get(name) {
            let whole: Vec<_> = import.iter().chain(after).cloned().collect();
            // A re-export of another crate's item is this module's own.
            return self.resolve(&path, &whole, chain).or(Some(path));
        }
        if module.items.contains(name) {
            return Some(path);
        }
        for glob in &module.globs {
            let source = self.resolve(&path, glob, chain).filter(|source| self.defines(source, name));
            if let Some(source) = source.filter(|source| *source != path) {
                return self.walk(source, rest, chain);
            }
        }
        Some(path)
    }
}

impl Module {
    fn import(&mut self, import: &Import) {
        match import.name.as_str() {
            "*" => self.globs.push(import.path.clone()),
            "_" => {}
            name => drop(self.imports.insert(name.to_owned(), import.path.clone())),
        }
    }
}
