//! Guards the order of the files of each crate: few of them need each other.

use crate::seams::sources;
use std::collections::{BTreeMap, BTreeSet};
use syn::visit::{self, Visit};

/// Most files that need each other.
const MOST: usize = 5;
const CRATES: &[&str] = &[
    "formats/src",
    "src",
    "src/base",
    "src/fabric",
    "src/figure",
    "src/oblivious",
    "src/replay",
];

/// Names of modules from the crate's root, and of what is in them.
type Place = Vec<String>;

/// A file: the places that it names, and those that it hands on under names of its own.
#[derive(Default)]
struct Module {
    named: Vec<Place>,
    handed_on: BTreeMap<String, Place>,
}

type Modules = BTreeMap<Place, Module>;

#[test]
fn at_most_five_files_need_each_other() {
    let mut found = String::new();
    for dir in CRATES {
        for circle in circles(&modules(files(dir))) {
            if circle.len() > MOST {
                found.push_str(&format!("{dir}: {}\n", circle.join(", ")));
            }
        }
    }
    assert!(
        found.is_empty(),
        "each of these files needs all others of its line: move what they share into a file of its own\n{found}"
    );
}

#[test]
fn circles_are_found() {
    let files = [
        ("a/mod", "pub use b::X; use crate::c; mod b; mod d;"),
        (
            "a/b",
            "pub struct X; #[cfg(test)] mod tests { use crate::e::Y; }",
        ),
        ("a/d", "use super::X; pub(in crate::a) struct Z;"),
        ("c", "fn f() { crate::a::d::g() }"),
        ("e", "use crate::a::{d::Z, X as W};"),
    ];
    let files = files.map(|(name, text)| (place(name), text.to_owned()));
    let found = circles(&modules(files.into()));
    // `a` only hands X on.
    assert!(found.is_empty(), "{found:?}");
    let files = [
        ("a", "use crate::b::X;"),
        ("b", "fn f(x: &super::c::Y) {}"),
        ("c", "use super::a;"),
    ];
    let files = files.map(|(name, text)| (place(name), text.to_owned()));
    assert_eq!(circles(&modules(files.into())), [["a", "b", "c"]]);
}

/// The files of a crate, except the files of crates inside its directory.
fn files(dir: &str) -> Vec<(Place, String)> {
    let inner = |name: &str| {
        CRATES
            .iter()
            .any(|other| other.len() > dir.len() && name.starts_with(&format!("{other}/")))
    };
    let own = sources(dir).into_iter();
    let own = own.filter(|(name, _)| !inner(name) && !name.ends_with("/tests.rs"));
    own.map(|(name, text)| (place(name[dir.len() + 1..].trim_end_matches(".rs")), text))
        .collect()
}

fn place(name: &str) -> Place {
    let mut place: Place = name.split('/').map(String::from).collect();
    place.pop_if(|last| matches!(last.as_str(), "mod" | "lib" | "main"));
    place
}

fn modules(files: Vec<(Place, String)>) -> Modules {
    let known: BTreeSet<Place> = files.iter().map(|(place, _)| place.clone()).collect();
    let read = |(place, text): (Place, String)| {
        let mut reader = Reader {
            known: &known,
            place: &place,
            uses: Vec::new(),
            words: Vec::new(),
            module: Module::default(),
        };
        reader.visit_file(&syn::parse_file(&text).unwrap());
        let module = reader.finish();
        (place, module)
    };
    files.into_iter().map(read).collect()
}

/// Collects the places that a file names, without its tests.
struct Reader<'a> {
    known: &'a BTreeSet<Place>,
    place: &'a Place,
    /// Places that it imports, their names here, and whether it hands them on.
    uses: Vec<(Place, String, bool)>,
    /// First words of all paths in its code.
    words: Vec<String>,
    module: Module,
}

impl Reader<'_> {
    /// The place that a path means; `None` if it is in another crate.
    fn absolute(&self, path: &[String]) -> Option<Place> {
        let mut place = self.place.clone();
        let mut rest = path;
        while let [first, others @ ..] = rest {
            match first.as_str() {
                "crate" => place.clear(),
                "self" => {}
                "super" => {
                    place.pop();
                }
                _ => break,
            }
            rest = others;
        }
        let child = |name: &String| {
            self.known
                .contains(&[place.as_slice(), std::slice::from_ref(name)].concat())
        };
        let is_own = rest.len() < path.len() || rest.first().is_some_and(child);
        place.extend_from_slice(rest);
        is_own.then_some(place)
    }

    fn read_use(&mut self, tree: &syn::UseTree, mut path: Vec<String>, public: bool) {
        match tree {
            syn::UseTree::Path(inner) => {
                path.push(inner.ident.to_string());
                self.read_use(&inner.tree, path, public);
            }
            syn::UseTree::Group(group) => {
                for inner in &group.items {
                    self.read_use(inner, path.clone(), public);
                }
            }
            syn::UseTree::Name(name) if name.ident == "self" => {
                self.import(path.clone(), path.last().cloned(), public)
            }
            syn::UseTree::Name(name) => {
                path.push(name.ident.to_string());
                self.import(path, Some(name.ident.to_string()), public);
            }
            syn::UseTree::Rename(names) => {
                path.push(names.ident.to_string());
                self.import(path, Some(names.rename.to_string()), public);
            }
            syn::UseTree::Glob(_) => self.import(path, None, public),
        }
    }

    fn import(&mut self, path: Vec<String>, name: Option<String>, public: bool) {
        if let Some(place) = self.absolute(&path) {
            self.uses.push((place, name.unwrap_or_default(), public));
        }
    }

    /// A name that is only handed on is no need of this file.
    fn finish(mut self) -> Module {
        for (place, name, public) in self.uses {
            if !public || self.words.contains(&name) {
                self.module.named.push(place.clone());
            }
            self.module.handed_on.insert(name, place);
        }
        self.module
    }
}

impl<'a> Visit<'a> for Reader<'_> {
    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        if item.ident != "tests" {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        let public = !matches!(item.vis, syn::Visibility::Inherited);
        self.read_use(&item.tree, Vec::new(), public);
    }

    fn visit_visibility(&mut self, _: &'a syn::Visibility) {}

    fn visit_path(&mut self, path: &'a syn::Path) {
        let words: Vec<String> = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        if words.len() > 1 {
            self.module.named.extend(self.absolute(&words));
        }
        self.words.push(words[0].clone());
        visit::visit_path(self, path);
    }
}

/// The module in which a place is, where its item comes from.
fn home(modules: &Modules, place: &Place, depth: usize) -> Place {
    let mut parts = place.len();
    while parts > 0 && !modules.contains_key(&place[..parts]) {
        parts -= 1;
    }
    let (module, rest) = place.split_at(parts);
    let from = rest
        .first()
        .and_then(|name| modules.get(module)?.handed_on.get(name));
    match from {
        Some(from) if depth < 8 => {
            home(modules, &[from.as_slice(), &rest[1..]].concat(), depth + 1)
        }
        _ => module.to_vec(),
    }
}

/// The files that need each other, by the names of their modules.
fn circles(modules: &Modules) -> Vec<Vec<String>> {
    let needs = |place: &Place| -> BTreeSet<Place> {
        let named = &modules[place].named;
        named
            .iter()
            .map(|named| home(modules, named, 0))
            .filter(|home| modules.contains_key(home))
            .collect()
    };
    let needs: BTreeMap<&Place, BTreeSet<Place>> =
        modules.keys().map(|place| (place, needs(place))).collect();
    let reached = |place: &Place| {
        let mut reached = BTreeSet::new();
        let mut open = vec![place.clone()];
        while let Some(place) = open.pop() {
            for next in &needs[&place] {
                if reached.insert(next.clone()) {
                    open.push(next.clone());
                }
            }
        }
        reached
    };
    let reached: BTreeMap<&Place, BTreeSet<Place>> = modules
        .keys()
        .map(|place| (place, reached(place)))
        .collect();
    let circle = |(&place, far): (&&Place, &BTreeSet<Place>)| -> Vec<String> {
        let back = far
            .iter()
            .filter(|other| *other != place && reached[other].contains(place));
        let mut names: Vec<String> = back.chain([place]).map(|place| place.join("::")).collect();
        names.sort();
        names
    };
    let all: BTreeSet<Vec<String>> = reached.iter().map(circle).collect();
    all.into_iter().filter(|circle| circle.len() > 1).collect()
}
