//! The measurement: every point once in each round, so that what changes with time shows as drift and not as a difference
//! between points.

use crate::error::MeasureError;
use crate::measured::{Measured, MeasuredDrive};
use crate::plan::{MeasureOrder, Point, points};
use crate::point::PointResult;
use crate::run::{MeasureRun, fill, run};
use crate::target::MeasureTarget;
use crate::warning::{Circumstances, of_circumstances, of_points};
use loadline_base::{Bytes, mix64};
use loadline_host::{DriveFacts, Loop, LoopOptions, ProgramMemory};

/// Memory for transfers in flight: a few of the largest, each in one piece.
const IN_FLIGHT: Bytes = Bytes::from_mib(64);

/// How far a measurement is.
#[derive(Clone, Copy, Debug)]
pub enum MeasureProgress<'a> {
    /// The region is being written whole; the share that is.
    Filling(f64),
    /// So many of so many measurements are made; the next is of this point.
    Measuring {
        /// Made.
        made: usize,
        /// In all.
        of: usize,
        /// The next.
        point: &'a Point,
    },
}

/// Measures a target. `watch` hears how far it is, and answers whether to go on.
///
/// # Errors
/// [`MeasureError`]; a file that was made is removed then too.
pub fn measure(
    target: MeasureTarget,
    order: &MeasureOrder,
    watch: &mut dyn FnMut(MeasureProgress<'_>) -> bool,
) -> Result<Measured, MeasureError> {
    let MeasureTarget { disk, region, writes, made } = target;
    let (path, direct, mode) =
        (disk.path().to_owned(), disk.mode().direct, disk.mode().to_string());
    let mut options = LoopOptions::default();
    (options.backend, options.disk_memory) = (order.backend, IN_FLIGHT);
    let mut world = Loop::<()>::new(options)?;
    let id = world.add_disk(disk)?;
    let mut first_write = None;
    if writes {
        let filling = &mut |share| watch(MeasureProgress::Filling(share));
        let rate = fill(&mut world, id, region, filling)?;
        first_write = made.is_some().then_some(rate);
    }
    let facts = DriveFacts::of(&path).map_err(MeasureError::Facts)?;
    let points = points(writes);
    let mut runs: Vec<Vec<MeasureRun>> = vec![Vec::new(); points.len()];
    for round in 0..order.repeats as usize {
        for (index, point) in points.iter().enumerate() {
            let (at, of) = (round * points.len() + index, order.repeats as usize * points.len());
            if !watch(MeasureProgress::Measuring { made: at, of, point }) {
                return Err(MeasureError::Interrupted);
            }
            let seed = mix64(order.seed ^ mix64(at as u64));
            runs[index].push(run(&mut world, id, point, region, (order.time, seed))?);
        }
    }
    let points: Vec<PointResult> =
        points.iter().zip(&runs).map(|(point, runs)| PointResult::new(point, runs)).collect();
    let mut warnings = of_circumstances(&Circumstances {
        facts: &facts,
        direct,
        mode: world.mode(),
        region,
        writes,
        memory: ProgramMemory::here().total,
    });
    warnings.extend(of_points(&points, order.time.as_secs_f64()));
    drop(made);
    Ok(Measured {
        drive: MeasuredDrive {
            path,
            region_bytes: region.get(),
            device: facts.device,
            model: facts.model,
            rotational: facts.rotational,
            scheduler: facts.scheduler,
            file_system: facts.file_system,
            mode,
            event_loop: world.mode().to_string(),
        },
        seconds: order.time.as_secs_f64(),
        repeats: order.repeats,
        first_write_bytes_per_s: first_write,
        points,
        warnings,
    })
}
