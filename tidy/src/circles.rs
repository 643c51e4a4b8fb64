//! Files that need each other. What a file names of another one is read from its imports and paths; who only hands names on
//! is passed through.

use crate::source::{File, Found, House, leaves};
use std::collections::{BTreeMap, BTreeSet};
use syn::Item;
use syn::visit::Visit;

/// The circles between files, each with what one file names of another inside it. The largest is first.
pub(crate) fn circles(house: &House) -> Vec<Vec<String>> {
    let arrows: Vec<BTreeMap<usize, BTreeSet<String>>> =
        (0..house.files.len()).map(|file| arrows_of(house, file)).collect();
    let reach: Vec<BTreeSet<usize>> = (0..arrows.len()).map(|file| reach(&arrows, file)).collect();
    let mut circles: BTreeSet<Vec<usize>> = BTreeSet::new();
    for file in 0..arrows.len() {
        let all = reach[file].iter().filter(|other| reach[**other].contains(&file));
        let all: Vec<usize> = all.copied().collect();
        if all.len() > 1 {
            circles.insert(all);
        }
    }
    let mut told: Vec<Vec<String>> = circles.iter().map(|all| tell(house, &arrows, all)).collect();
    told.sort_by_key(|lines| std::cmp::Reverse(lines.len()));
    told
}

/// One line for each file of a circle.
fn tell(house: &House, arrows: &[BTreeMap<usize, BTreeSet<String>>], all: &[usize]) -> Vec<String> {
    let line = |file: &usize| {
        let inside = arrows[*file].iter().filter(|(to, _)| all.contains(to));
        let names = inside.map(|(to, names)| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            format!("{} of {}", names.join(", "), house.files[*to].path)
        });
        format!("{} names {}", house.files[*file].path, names.collect::<Vec<_>>().join("; "))
    };
    all.iter().map(line).collect()
}

fn reach(arrows: &[BTreeMap<usize, BTreeSet<String>>], from: usize) -> BTreeSet<usize> {
    let (mut reached, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(file) = next.pop() {
        next.extend(arrows[file].keys().filter(|to| reached.insert(**to)));
    }
    reached
}

/// The files that a file names something of.
fn arrows_of(house: &House, at: usize) -> BTreeMap<usize, BTreeSet<String>> {
    let File { items, .. } = &house.files[at];
    let mut paths = Paths { modules: BTreeMap::new(), found: Vec::new() };
    for item in items {
        let Item::Use(item) = item else { continue };
        let is_face = !matches!(item.vis, syn::Visibility::Inherited);
        for (alias, path) in leaves(&item.tree) {
            let is_module = matches!(house.resolve(at, &path), Some(Found::Module));
            if is_module {
                paths.modules.insert(alias, path);
            } else if !is_face {
                paths.found.push(path);
            }
        }
    }
    items.iter().filter(|item| !matches!(item, Item::Use(_))).for_each(|it| paths.visit_item(it));
    let mut arrows: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    for path in paths.found {
        // The last part may be a variant or a function of a type.
        let found =
            (1..=path.len()).rev().find_map(|length| match house.resolve(at, &path[..length]) {
                Some(Found::Item(file)) => Some((file, path[length - 1].clone())),
                _ => None,
            });
        if let Some((file, name)) = found.filter(|(file, _)| *file != at) {
            arrows.entry(file).or_default().insert(name);
        }
    }
    arrows
}

/// Collects every path of more than one part.
struct Paths {
    /// Modules by the names that the file gives them.
    modules: BTreeMap<String, Vec<String>>,
    found: Vec<Vec<String>>,
}

impl Visit<'_> for Paths {
    fn visit_item_mod(&mut self, _: &syn::ItemMod) {}

    fn visit_path(&mut self, path: &syn::Path) {
        let parts: Vec<String> = path.segments.iter().map(|part| part.ident.to_string()).collect();
        if parts.len() > 1 {
            self.found.push(match self.modules.get(&parts[0]) {
                Some(module) => [module.as_slice(), &parts[1..]].concat(),
                None => parts,
            });
        }
        syn::visit::visit_path(self, path);
    }
}
