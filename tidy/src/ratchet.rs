//! What may only become less: circles between files, names with two meanings, owners with too many fields, fields that many
//! files touch. A figure that has shrunk is lowered here, so that it stays so.

use crate::circles::circles;
use crate::source::{House, type_name};
use std::collections::{BTreeMap, BTreeSet};
use syn::visit::Visit;
use syn::{Expr, ImplItem, Item, Member};

/// Files of the largest circle, and of all circles together.
const CIRCLE_MAX: usize = 2;
const FILES_IN_CIRCLES: usize = 28;
/// Names of types that are defined more than once.
const NAMES_WITH_TWO_MEANINGS: usize = 1;
/// Fields of an owner at most.
const FIELDS_MAX: usize = 12;
/// Owners that have more.
const LARGE_OWNERS: usize = 0;
/// Fields of owners that four files or more touch.
const FIELDS_OF_MANY_FILES: usize = 43;

/// Fails if there are more findings than allowed, and also if there are fewer.
fn hold(what: &str, limit: usize, found: usize, findings: &[String]) {
    let advice = match found.cmp(&limit) {
        std::cmp::Ordering::Equal => return,
        std::cmp::Ordering::Less => "lower the limit in ratchet.rs",
        std::cmp::Ordering::Greater => "they may only become fewer",
    };
    panic!("\n{}\n{what}: {found}, and {limit} are written down: {advice}\n", findings.join("\n"));
}

#[test]
fn files_need_each_other_in_no_more_circles() {
    let circles = circles(&House::read());
    let told: Vec<String> = circles.iter().map(|lines| format!("{}\n", lines.join("\n"))).collect();
    let largest = circles.first().map_or(0, Vec::len);
    hold("files of the largest circle", CIRCLE_MAX, largest, &told);
    let all = circles.iter().map(Vec::len).sum();
    hold("files in circles", FILES_IN_CIRCLES, all, &told);
}

#[test]
fn a_name_has_one_meaning() {
    let house = House::read();
    let mut defined: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for file in &house.files {
        for name in file.items.iter().filter_map(type_name) {
            defined.entry(name).or_default().push(&file.path);
        }
    }
    let twice = defined.iter().filter(|(_, files)| files.len() > 1);
    let told: Vec<String> =
        twice.map(|(name, files)| format!("{name}: {}", files.join(", "))).collect();
    println!("{} of {} names of types have one meaning", defined.len() - told.len(), defined.len());
    hold("names with two meanings", NAMES_WITH_TWO_MEANINGS, told.len(), &told);
}

/// A type with methods that change it.
#[derive(Default)]
struct Owner {
    fields: BTreeSet<String>,
    changes: bool,
    /// The files in which its methods touch a field.
    touched: BTreeMap<String, BTreeSet<String>>,
}

/// Every owner, by its crate and name.
fn owners(house: &House) -> BTreeMap<(String, String), Owner> {
    let mut owners: BTreeMap<(String, String), Owner> = BTreeMap::new();
    for file in &house.files {
        for item in &file.items {
            let key = |name: String| (file.module[0].clone(), name);
            match item {
                Item::Struct(item) => {
                    let names = item.fields.iter().filter_map(|field| field.ident.as_ref());
                    let owner = owners.entry(key(item.ident.to_string())).or_default();
                    owner.fields.extend(names.map(ToString::to_string));
                }
                Item::Impl(item) => {
                    let syn::Type::Path(of) = &*item.self_ty else { continue };
                    let Some(name) = of.path.segments.last() else { continue };
                    let owner = owners.entry(key(name.ident.to_string())).or_default();
                    for method in &item.items {
                        let ImplItem::Fn(method) = method else { continue };
                        let receiver = method.sig.receiver();
                        owner.changes |= receiver
                            .is_some_and(|it| it.reference.is_some() && it.mutability.is_some());
                        let mut touches = Touches::default();
                        touches.visit_block(&method.block);
                        for field in touches.fields {
                            owner.touched.entry(field).or_default().insert(file.path.clone());
                        }
                    }
                }
                _ => {}
            }
        }
    }
    owners.retain(|_, owner| owner.changes);
    owners
}

/// Fields of `self` that a method names.
#[derive(Default)]
struct Touches {
    fields: BTreeSet<String>,
}

impl Visit<'_> for Touches {
    fn visit_expr_field(&mut self, field: &syn::ExprField) {
        if let (Expr::Path(base), Member::Named(name)) = (&*field.base, &field.member)
            && base.path.is_ident("self")
        {
            self.fields.insert(name.to_string());
        }
        syn::visit::visit_expr_field(self, field);
    }
}

#[test]
fn an_owner_has_few_fields() {
    let owners = owners(&House::read());
    let large = owners.iter().filter(|(_, owner)| owner.fields.len() > FIELDS_MAX);
    let told: Vec<String> = large
        .map(|((of, name), owner)| format!("{of}: {name} has {} fields", owner.fields.len()))
        .collect();
    hold("owners of more than 12 fields", LARGE_OWNERS, told.len(), &told);
}

#[test]
fn a_field_is_touched_in_few_files() {
    let owners = owners(&House::read());
    let mut told = Vec::new();
    for ((of, name), owner) in &owners {
        let many = owner
            .touched
            .iter()
            .filter(|(field, files)| owner.fields.contains(*field) && files.len() >= 4);
        told.extend(
            many.map(|(field, files)| format!("{of}: {name}.{field}: {} files", files.len())),
        );
    }
    hold("fields that four files or more touch", FIELDS_OF_MANY_FILES, told.len(), &told);
}
