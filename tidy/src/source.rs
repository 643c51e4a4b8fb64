//! The sources as the rules see them: every file with its syntax tree, and who defines what. Tests are no part of it.

use crate::{FLOORS, read, root, rust_files};
use std::collections::BTreeMap;
use std::path::Path;
use syn::{Attribute, Item, UseTree, Visibility};

/// One source file.
pub(crate) struct File {
    /// Below the workspace.
    pub(crate) path: String,
    /// Its crate's folder, then its modules.
    pub(crate) module: Vec<String>,
    /// What stands in it, without its tests.
    pub(crate) items: Vec<Item>,
}

/// What a name in a module means.
enum Meaning {
    /// It is defined there.
    Here,
    /// It is handed on: where from, as it is written.
    HandedOn(Vec<String>),
}

/// All files, and the names in them.
pub(crate) struct House {
    pub(crate) files: Vec<File>,
    by_module: BTreeMap<Vec<String>, usize>,
    names: Vec<BTreeMap<String, Meaning>>,
    /// What is handed on whole.
    globs: Vec<Vec<Vec<String>>>,
}

/// What a path leads to.
pub(crate) enum Found {
    /// Something that this file defines.
    Item(usize),
    /// A module.
    Module,
}

impl House {
    pub(crate) fn read() -> House {
        let files: Vec<File> = FLOORS.iter().flat_map(|folder| files_of(folder)).collect();
        let by_module = files.iter().enumerate().map(|(at, file)| (file.module.clone(), at));
        let (names, globs) = files.iter().map(names_in).unzip();
        House { by_module: by_module.collect(), names, globs, files }
    }

    /// Where a path leads that stands in this file; `None` if to something that is not of this crate.
    pub(crate) fn resolve(&self, from: usize, path: &[String]) -> Option<Found> {
        self.resolve_in(&self.files[from].module, path, 0)
    }

    fn resolve_in(&self, module: &[String], path: &[String], depth: usize) -> Option<Found> {
        if depth > 8 {
            return None;
        }
        let (mut module, mut rest) = (module.to_vec(), path);
        loop {
            match rest.first().map(String::as_str) {
                Some("crate") => module.truncate(1),
                Some("super") => drop(module.pop()),
                Some("self") => {}
                _ => break,
            }
            rest = &rest[1..];
        }
        let at = *self.by_module.get(&module)?;
        let Some((name, behind)) = rest.split_first() else { return Some(Found::Module) };
        let child = [module.as_slice(), std::slice::from_ref(name)].concat();
        if self.by_module.contains_key(&child) {
            return self.resolve_in(&child, behind, depth + 1);
        }
        match self.names[at].get(name) {
            Some(Meaning::Here) => Some(Found::Item(at)),
            Some(Meaning::HandedOn(from)) => {
                let path = [from.as_slice(), behind].concat();
                self.resolve_in(&module, &path, depth + 1)
            }
            None => self.globs[at].iter().find_map(|glob| {
                let path = [glob.as_slice(), rest].concat();
                self.resolve_in(&module, &path, depth + 1)
            }),
        }
    }
}

fn files_of(folder: &str) -> Vec<File> {
    let src = root().join(folder).join("src");
    let is_source = |path: &Path| {
        let inside = path.strip_prefix(&src).expect("it was found there").with_extension("");
        inside.iter().all(|part| {
            let part = part.to_str().expect("names are plain");
            part != "tests" && !part.ends_with("_tests")
        })
    };
    let paths = rust_files(&src).into_iter().filter(|path| is_source(path));
    let file = |path: std::path::PathBuf| {
        let parsed = syn::parse_file(&read(&path));
        let parsed = parsed.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let inside = path.strip_prefix(&src).expect("it was found there").with_extension("");
        let mut module = vec![folder.to_owned()];
        module.extend(inside.iter().map(|part| part.to_string_lossy().into_owned()));
        if ["mod", "lib", "main"].contains(&module.last().expect("it has a name").as_str()) {
            module.pop();
        }
        let items = parsed.items.into_iter().filter(|item| !is_for_tests(item)).collect();
        let path = path.strip_prefix(root()).expect("it is in the workspace");
        File { path: path.display().to_string(), module, items }
    };
    paths.map(file).collect()
}

/// Whether an item stands there for tests alone.
fn is_for_tests(item: &Item) -> bool {
    let says_test = |attributes: &[Attribute]| {
        let tokens = |attribute: &Attribute| match &attribute.meta {
            syn::Meta::List(list) => list.tokens.to_string(),
            _ => String::new(),
        };
        attributes.iter().any(|it| it.path().is_ident("cfg") && tokens(it).contains("test"))
    };
    match item {
        Item::Mod(item) => says_test(&item.attrs),
        Item::Fn(item) => says_test(&item.attrs),
        Item::Impl(item) => says_test(&item.attrs),
        Item::Use(item) => says_test(&item.attrs),
        Item::Struct(item) => says_test(&item.attrs),
        _ => false,
    }
}

/// The name of a type that an item defines.
pub(crate) fn type_name(item: &Item) -> Option<String> {
    match item {
        Item::Struct(item) => Some(item.ident.to_string()),
        Item::Enum(item) => Some(item.ident.to_string()),
        Item::Trait(item) => Some(item.ident.to_string()),
        Item::Type(item) => Some(item.ident.to_string()),
        _ => None,
    }
}

fn names_in(file: &File) -> (BTreeMap<String, Meaning>, Vec<Vec<String>>) {
    let (mut names, mut globs) = (BTreeMap::new(), Vec::new());
    for item in &file.items {
        let name = type_name(item).or_else(|| match item {
            Item::Fn(item) => Some(item.sig.ident.to_string()),
            Item::Const(item) => Some(item.ident.to_string()),
            Item::Static(item) => Some(item.ident.to_string()),
            Item::Macro(item) => item.ident.as_ref().map(ToString::to_string),
            _ => None,
        });
        names.extend(name.map(|name| (name, Meaning::Here)));
        if let Item::Use(item) = item
            && !matches!(item.vis, Visibility::Inherited)
        {
            for (alias, path) in leaves(&item.tree) {
                match alias.as_str() {
                    "*" => globs.push(path),
                    _ => drop(names.insert(alias, Meaning::HandedOn(path))),
                }
            }
        }
    }
    (names, globs)
}

/// Every name that a `use` brings, with its whole path; `*` for all.
pub(crate) fn leaves(tree: &UseTree) -> Vec<(String, Vec<String>)> {
    match tree {
        UseTree::Path(path) => {
            let mut inside = leaves(&path.tree);
            for (alias, rest) in &mut inside {
                rest.insert(0, path.ident.to_string());
                if alias == "self" {
                    *alias = path.ident.to_string();
                }
            }
            inside
        }
        UseTree::Name(name) if name.ident == "self" => vec![("self".to_owned(), Vec::new())],
        UseTree::Name(name) => vec![(name.ident.to_string(), vec![name.ident.to_string()])],
        UseTree::Rename(name) => vec![(name.rename.to_string(), vec![name.ident.to_string()])],
        UseTree::Glob(_) => vec![("*".to_owned(), Vec::new())],
        UseTree::Group(group) => group.items.iter().flat_map(leaves).collect(),
    }
}
