//! The tree on resident pages of 4 KiB: nanoseconds per get, overwrite and ascending insert, with one million keys of
//! 8 or 14 bytes and values of 100 bytes.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use loadline_base::Rng;
use loadline_store::paged::edit::PageEdit;
use loadline_store::paged::ids::{CheckpointId, PageNo, PageVersion};
use loadline_store::paged::tree::{Tree, TreePages};
use std::hint::black_box;

const KEYS: u64 = 1_000_000;
const PAGE: usize = 4096;

/// Pages in memory side by side, as in the store's cache; all resident, none given back.
struct Memory {
    pages: Vec<u8>,
}

impl Memory {
    /// Room for one million entries, so that no measurement contains a move of all pages.
    fn new() -> Memory {
        Memory { pages: Vec::with_capacity(40_000 * PAGE) }
    }
}

impl TreePages for Memory {
    fn page(&self, number: PageNo) -> Option<&[u8]> {
        Some(&self.pages[number.0 as usize * PAGE..][..PAGE])
    }

    fn edit(&mut self, number: PageNo, edit: PageEdit<'_>) {
        edit.apply(number, &mut self.pages[number.0 as usize * PAGE..][..PAGE]);
    }

    fn allocate(&mut self) -> PageNo {
        let number = self.pages.len() / PAGE;
        self.pages.resize(self.pages.len() + PAGE, 0);
        PageNo(number as u64)
    }

    fn free(&mut self, _: PageNo) {
        unreachable!("nothing is removed");
    }

    fn may_touch(&self, _: PageNo) -> bool {
        true
    }

    fn is_dirty(&self, _: PageNo) -> bool {
        true
    }

    fn coming(&self) -> PageVersion {
        PageVersion::of(CheckpointId::FIRST)
    }
}

/// How the keys look: a name, and a number of which the last so many digits count.
#[derive(Clone, Copy)]
struct Form {
    name: &'static str,
    write: fn(u64, &mut [u8; 14]) -> usize,
}

const FORMS: [Form; 2] =
    [Form { name: "8-byte numbers", write: number }, Form { name: "14-byte names", write: digits }];

fn number(number: u64, key: &mut [u8; 14]) -> usize {
    key[..8].copy_from_slice(&number.to_be_bytes());
    8
}

fn digits(mut number: u64, key: &mut [u8; 14]) -> usize {
    *key = *b"user0000000000";
    for digit in key[4..].iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
    key.len()
}

fn filled(form: Form, keys: u64) -> (Tree, Memory) {
    let mut pages = Memory::new();
    let mut tree = Tree::create(&mut pages);
    let mut key = [0; 14];
    for at in 0..keys {
        let length = (form.write)(at, &mut key);
        tree.put(&mut pages, &key[..length], &[at as u8; 100], |_| ());
    }
    (tree, pages)
}

fn random(criterion: &mut Criterion) {
    for form in FORMS {
        let (mut tree, mut pages) = filled(form, KEYS);
        let mut group = criterion.benchmark_group(format!("tree/{}", form.name));
        group.throughput(Throughput::Elements(1));
        let (mut rng, mut key) = (Rng::new(1), [0; 14]);
        group.bench_function("get", |bencher| {
            bencher.iter(|| {
                let length = (form.write)(rng.below(KEYS), &mut key);
                let value = tree.get(&pages, &key[..length]).expect("resident").expect("there");
                black_box(value[0])
            });
        });
        group.bench_function("overwrite", |bencher| {
            bencher.iter(|| {
                let length = (form.write)(rng.below(KEYS), &mut key);
                assert!(tree.put(&mut pages, &key[..length], &[7; 100], |_| ()).is_some());
            });
        });
    }
}

fn ascending(criterion: &mut Criterion) {
    for form in FORMS {
        let mut group = criterion.benchmark_group(format!("tree/{}", form.name));
        group.throughput(Throughput::Elements(KEYS)).sample_size(10);
        group.bench_function("ascending insert", |bencher| {
            bencher.iter_batched(|| (), |()| filled(form, KEYS), BatchSize::PerIteration);
        });
    }
}

criterion_group!(benches, random, ascending);
criterion_main!(benches);
