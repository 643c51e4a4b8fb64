//! librados and librbd of the system, opened at run time: this program starts on machines without them. The only `unsafe` here.
//!
//! What every block below relies on: the functions have the types that Ceph's public headers (`rados/librados.h`, `rbd/librbd.h`) give them,
//! unchanged since Luminous; librados is safe to call from several threads on one cluster handle; it keeps no pointer of ours after
//! a call; a buffer that it hands out is given back once by `rados_buffer_free`. The libraries are never closed.

#![allow(unsafe_code, reason = "a C library is called; the module's head says why that is sound")]

use crate::connection::{CephConnection, CephError, CommandAnswer, CommandTarget, prefix_of};
use crate::place::CephPlace;
use serde_json::{Value, json};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::ptr::{null, null_mut};
use std::sync::OnceLock;
use std::time::Instant;

/// Seconds after which an answer is given up. Without it a command to a cluster without quorum waits for ever.
const TIMEOUT_S: &str = "10";

/// Why librados cannot be used. A static program's `dlopen` opens nothing.
const NOT_THERE: &str = if cfg!(target_feature = "crt-static") {
    "this program is static and opens no library: leave --by out, or use that of the Debian package"
} else {
    "librados.so.2 is not installed (apt-get install librados2)"
};

type Handle = *mut c_void;

type Buffers = (*mut *mut c_char, *mut usize, *mut *mut c_char, *mut usize);

/// librados by its functions.
struct RadosFunctions {
    create2: unsafe extern "C" fn(*mut Handle, *const c_char, *const c_char, u64) -> c_int,
    conf_read_file: unsafe extern "C" fn(Handle, *const c_char) -> c_int,
    conf_set: unsafe extern "C" fn(Handle, *const c_char, *const c_char) -> c_int,
    conf_get: unsafe extern "C" fn(Handle, *const c_char, *mut c_char, usize) -> c_int,
    connect: unsafe extern "C" fn(Handle) -> c_int,
    shutdown: unsafe extern "C" fn(Handle),
    buffer_free: unsafe extern "C" fn(*mut c_char),
    mon_command: AnyCommand,
    mgr_command: AnyCommand,
    osd_command: NumberedCommand,
    pg_command: NamedCommand,
    ioctx_create: unsafe extern "C" fn(Handle, *const c_char, *mut Handle) -> c_int,
    ioctx_destroy: unsafe extern "C" fn(Handle),
    write_full: unsafe extern "C" fn(Handle, *const c_char, *const c_char, usize) -> c_int,
    snapshot_create: unsafe extern "C" fn(Handle, *mut u64) -> c_int,
    snapshot_remove: unsafe extern "C" fn(Handle, u64) -> c_int,
    snapshots_beside: unsafe extern "C" fn(Handle, u64, *mut u64, c_int) -> c_int,
}

type AnyCommand = unsafe extern "C" fn(
    Handle,
    *const *const c_char,
    usize,
    *const c_char,
    usize,
    *mut *mut c_char,
    *mut usize,
    *mut *mut c_char,
    *mut usize,
) -> c_int;
type NumberedCommand = unsafe extern "C" fn(
    Handle,
    c_int,
    *const *const c_char,
    usize,
    *const c_char,
    usize,
    *mut *mut c_char,
    *mut usize,
    *mut *mut c_char,
    *mut usize,
) -> c_int;
type NamedCommand = unsafe extern "C" fn(
    Handle,
    *const c_char,
    *const *const c_char,
    usize,
    *const c_char,
    usize,
    *mut *mut c_char,
    *mut usize,
    *mut *mut c_char,
    *mut usize,
) -> c_int;
type CreateImage = unsafe extern "C" fn(Handle, *const c_char, u64, u64, *mut c_int) -> c_int;

/// A function of a library that is open.
///
/// # Safety
/// `F` is a function pointer of the type that the function has.
unsafe fn function<F: Copy>(library: Handle, name: &CStr) -> Option<F> {
    assert_eq!(size_of::<F>(), size_of::<Handle>(), "a function pointer is asked for");
    // SAFETY: the library is open, and the name ends with a zero.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    // SAFETY: the sizes are equal, a function pointer is any address but null, and the caller vouches for the type.
    (!found.is_null()).then(|| unsafe { std::mem::transmute_copy(&found) })
}

fn open(name: &CStr) -> Option<Handle> {
    // SAFETY: the name ends with a zero; the library's constructors are those of any program that links it.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    (!library.is_null()).then_some(library)
}

fn rados() -> Option<&'static RadosFunctions> {
    static FOUND: OnceLock<Option<RadosFunctions>> = OnceLock::new();
    FOUND
        .get_or_init(|| {
            let library = open(c"librados.so.2")?;
            // SAFETY: each field has the type of the function that it is named after.
            unsafe {
                Some(RadosFunctions {
                    create2: function(library, c"rados_create2")?,
                    conf_read_file: function(library, c"rados_conf_read_file")?,
                    conf_set: function(library, c"rados_conf_set")?,
                    conf_get: function(library, c"rados_conf_get")?,
                    connect: function(library, c"rados_connect")?,
                    shutdown: function(library, c"rados_shutdown")?,
                    buffer_free: function(library, c"rados_buffer_free")?,
                    mon_command: function(library, c"rados_mon_command")?,
                    mgr_command: function(library, c"rados_mgr_command")?,
                    osd_command: function(library, c"rados_osd_command")?,
                    pg_command: function(library, c"rados_pg_command")?,
                    ioctx_create: function(library, c"rados_ioctx_create")?,
                    ioctx_destroy: function(library, c"rados_ioctx_destroy")?,
                    write_full: function(library, c"rados_write_full")?,
                    snapshot_create: function(library, c"rados_ioctx_selfmanaged_snap_create")?,
                    snapshot_remove: function(library, c"rados_ioctx_selfmanaged_snap_remove")?,
                    snapshots_beside: function(
                        library,
                        c"rados_ioctx_selfmanaged_snap_set_write_ctx",
                    )?,
                })
            }
        })
        .as_ref()
}

fn create_image_function() -> Option<CreateImage> {
    static FOUND: OnceLock<Option<CreateImage>> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let library = open(c"librbd.so.1")?;
        // SAFETY: it is the type of `rbd_create2`.
        unsafe { function(library, c"rbd_create2") }
    })
}

/// A connection by librados. Dropping it ends it.
pub struct Librados {
    cluster: Handle,
    functions: &'static RadosFunctions,
}

// SAFETY: librados' handle may be used from several threads at a time, and ended on another than it was made on.
unsafe impl Send for Librados {}
// SAFETY: as above.
unsafe impl Sync for Librados {}

impl Librados {
    /// Whether the system has the library.
    pub fn is_installed() -> bool {
        rados().is_some()
    }

    /// Connects as the configuration says.
    ///
    /// # Errors
    /// [`CephError::Conf`], or [`CephError::Unreachable`] with what would help.
    pub fn connect(place: &CephPlace) -> Result<Librados, CephError> {
        let conf = place.conf.display().to_string();
        let refuse =
            |reason: &str| CephError::Unreachable { conf: conf.clone(), reason: reason.to_owned() };
        let functions = rados().ok_or_else(|| refuse(NOT_THERE))?;
        let text = |of: &str| CString::new(of).map_err(|_| refuse("a name has a zero byte"));
        let (user, path) = (text(&place.user)?, text(&conf)?);
        let no_conf = |error| CephError::Conf { conf: place.conf.clone(), error };
        let mut cluster = null_mut();
        // SAFETY: the handle is written before it is used, and the texts outlive the calls.
        let code =
            unsafe { (functions.create2)(&raw mut cluster, c"ceph".as_ptr(), user.as_ptr(), 0) };
        if code < 0 {
            return Err(refuse(&in_words(code)));
        }
        // SAFETY: as above. What does not get connected is not shut down either: the header allows that only after it, and it is small.
        let code = unsafe { (functions.conf_read_file)(cluster, path.as_ptr()) };
        if code < 0 {
            let error = match -code {
                libc::EINVAL => {
                    io::Error::new(io::ErrorKind::InvalidInput, "it is no configuration of Ceph")
                }
                number => io::Error::from_raw_os_error(number),
            };
            return Err(no_conf(error));
        }
        let quiet = [
            (c"rados_mon_op_timeout", TIMEOUT_S),
            (c"rados_osd_op_timeout", TIMEOUT_S),
            (c"client_mount_timeout", TIMEOUT_S),
            (c"log_to_stderr", "false"),
            (c"err_to_stderr", "false"),
            (c"log_file", ""),
            (c"admin_socket", ""),
            (c"rbd_cache", "false"),
        ];
        for (option, value) in quiet {
            let value = text(value)?;
            // SAFETY: as above. An option that a release does not know changes nothing there.
            unsafe { (functions.conf_set)(cluster, option.as_ptr(), value.as_ptr()) };
        }
        // SAFETY: the handle is configured.
        let code = unsafe { (functions.connect)(cluster) };
        if code < 0 {
            return Err(match code == -libc::ENOENT && !names_monitors(functions, cluster) {
                false => refuse(&in_words(code)),
                true => no_conf(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "it names no monitors, and no DNS record does; give mon_host there",
                )),
            });
        }
        Ok(Librados { cluster, functions })
    }

    /// Calls with the four places for the answer, and takes the answer from there.
    fn answered(&self, call: impl FnOnce(Buffers) -> c_int) -> (c_int, Vec<u8>, String) {
        let (mut output, mut output_length) = (null_mut::<c_char>(), 0usize);
        let (mut status, mut status_length) = (null_mut::<c_char>(), 0usize);
        let code = call((
            &raw mut output,
            &raw mut output_length,
            &raw mut status,
            &raw mut status_length,
        ));
        let output = self.taken(output, output_length);
        let status = self.taken(status, status_length);
        (code, output, String::from_utf8_lossy(&status).into_owned())
    }

    fn taken(&self, buffer: *mut c_char, length: usize) -> Vec<u8> {
        if buffer.is_null() {
            return Vec::new();
        }
        // SAFETY: librados handed out so many bytes there, and nobody else has them.
        let bytes = unsafe { std::slice::from_raw_parts(buffer.cast::<u8>(), length) }.to_vec();
        // SAFETY: it is given back once.
        unsafe { (self.functions.buffer_free)(buffer) };
        bytes
    }

    /// Does something with a pool.
    fn in_pool(
        &self,
        pool: &str,
        what: &str,
        act: impl FnOnce(Handle) -> c_int,
    ) -> Result<(), CephError> {
        let failed = |reason: String| CephError::NotWritten { what: what.to_owned(), reason };
        let name = CString::new(pool).map_err(|_| failed("a name has a zero byte".to_owned()))?;
        let mut ioctx = null_mut();
        // SAFETY: the cluster is connected, and the handle is written before it is used.
        let code =
            unsafe { (self.functions.ioctx_create)(self.cluster, name.as_ptr(), &raw mut ioctx) };
        if code < 0 {
            return Err(failed(format!("pool {pool}: {}", in_words(code))));
        }
        let code = act(ioctx);
        // SAFETY: it was made above, and ends once.
        unsafe { (self.functions.ioctx_destroy)(ioctx) };
        if code < 0 { Err(failed(in_words(code))) } else { Ok(()) }
    }
}

impl CephConnection for Librados {
    fn command(&self, target: &CommandTarget, command: &Value) -> Result<CommandAnswer, CephError> {
        let unanswered = |reason: String| CephError::Unanswered {
            target: target.clone(),
            prefix: prefix_of(command),
            reason,
        };
        let mut with_format = command.clone();
        with_format["format"] = json!("json");
        // A PG command is refused unless the JSON names the group, too.
        if let CommandTarget::Pg(pg) = target {
            with_format["pgid"] = json!(pg);
        }
        let text = CString::new(with_format.to_string()).expect("JSON escapes zero bytes");
        let list = [text.as_ptr()];
        let began = now();
        let (of, cluster, list) = (self.functions, self.cluster, list.as_ptr());
        let (code, output, text) = match target {
            // SAFETY, of all four: the cluster is connected, the list has one text, and there is no input.
            CommandTarget::Monitor => self.answered(|(a, b, c, d)| unsafe {
                (of.mon_command)(cluster, list, 1, null(), 0, a, b, c, d)
            }),
            CommandTarget::Manager => self.answered(|(a, b, c, d)| unsafe {
                (of.mgr_command)(cluster, list, 1, null(), 0, a, b, c, d)
            }),
            CommandTarget::Osd(osd) => {
                let osd =
                    c_int::try_from(*osd).map_err(|_| unanswered("no such OSD".to_owned()))?;
                self.answered(|(a, b, c, d)| unsafe {
                    (of.osd_command)(cluster, osd, list, 1, null(), 0, a, b, c, d)
                })
            }
            CommandTarget::Pg(pg) => {
                let pg =
                    CString::new(pg.as_str()).map_err(|_| unanswered("no such PG".to_owned()))?;
                self.answered(|(a, b, c, d)| unsafe {
                    (of.pg_command)(cluster, pg.as_ptr(), list, 1, null(), 0, a, b, c, d)
                })
            }
        };
        let never_asked = [-libc::ETIMEDOUT, -libc::ENXIO, -libc::ENOTCONN, -libc::EINTR];
        if never_asked.contains(&code) {
            return Err(unanswered(in_words(code)));
        }
        Ok(CommandAnswer { code, output, text, took: began.elapsed() })
    }

    fn describe(&self) -> String {
        "librados".to_owned()
    }

    fn write_object(&self, pool: &str, name: &str, bytes: usize) -> Result<(), CephError> {
        let text = CString::new(name).expect("names are ours");
        let content = incompressible(name, bytes);
        self.in_pool(pool, &format!("object {name}"), |ioctx| {
            // SAFETY: so many bytes are there until the call returns.
            unsafe {
                (self.functions.write_full)(ioctx, text.as_ptr(), content.as_ptr().cast(), bytes)
            }
        })
    }

    fn take_snapshot(&self, pool: &str) -> Result<u64, CephError> {
        let mut snapshot = 0;
        self.in_pool(pool, "a snapshot", |ioctx| {
            // SAFETY: the pool is open, and the number is ours.
            unsafe { (self.functions.snapshot_create)(ioctx, &raw mut snapshot) }
        })?;
        Ok(snapshot)
    }

    fn write_beside(
        &self,
        snapshot: u64,
        pool: &str,
        name: &str,
        bytes: usize,
    ) -> Result<(), CephError> {
        let text = CString::new(name).expect("names are ours");
        let content = incompressible(&format!("{name} after {snapshot}"), bytes);
        self.in_pool(pool, &format!("object {name}"), |ioctx| {
            let mut beside = [snapshot];
            // SAFETY: the pool is open, one snapshot is there, and the function copies it.
            let code = unsafe {
                (self.functions.snapshots_beside)(ioctx, snapshot, beside.as_mut_ptr(), 1)
            };
            if code < 0 {
                return code;
            }
            // SAFETY: so many bytes are there until the call returns.
            unsafe {
                (self.functions.write_full)(ioctx, text.as_ptr(), content.as_ptr().cast(), bytes)
            }
        })
    }

    fn remove_snapshot(&self, snapshot: u64, pool: &str) -> Result<(), CephError> {
        self.in_pool(pool, "the removal of a snapshot", |ioctx| {
            // SAFETY: the pool is open.
            unsafe { (self.functions.snapshot_remove)(ioctx, snapshot) }
        })
    }

    fn create_image(&self, pool: &str, name: &str, bytes: u64) -> Result<(), CephError> {
        const LAYERING: u64 = 1;
        let create = create_image_function().ok_or(CephError::NoObjects)?;
        let text = CString::new(name).expect("names are ours");
        let mut order = 22;
        self.in_pool(pool, &format!("image {name}"), |ioctx| {
            // SAFETY: the pool is open, and the order is a number of ours.
            unsafe { create(ioctx, text.as_ptr(), bytes, LAYERING, &raw mut order) }
        })
    }
}

impl Drop for Librados {
    fn drop(&mut self) {
        // SAFETY: it is ended once, and nobody uses it any more.
        unsafe { (self.functions.shutdown)(self.cluster) };
    }
}

/// Whether a configuration that was read leads to any. Where it does not, only DNS could.
fn names_monitors(functions: &RadosFunctions, cluster: Handle) -> bool {
    let mut found: [c_char; 2] = [0; 2];
    // SAFETY: the handle is configured, and so many bytes are there; what does not fit into them is refused.
    let code = unsafe {
        (functions.conf_get)(cluster, c"mon_host".as_ptr(), found.as_mut_ptr(), found.len())
    };
    code == -libc::ENAMETOOLONG || found[0] != 0
}

/// Bytes that follow from the name and that no store makes smaller.
fn incompressible(name: &str, bytes: usize) -> Vec<u8> {
    let seed = name.bytes().fold(0, |hash, byte| loadline_base::mix64(hash ^ u64::from(byte)));
    let words =
        (0..bytes.div_ceil(8) as u64).flat_map(|at| loadline_base::mix64(seed ^ at).to_le_bytes());
    words.take(bytes).collect()
}

#[expect(clippy::disallowed_methods, reason = "a world: how long an answer took")]
fn now() -> Instant {
    Instant::now()
}

/// A negative errno in words, with what would help.
fn in_words(code: c_int) -> String {
    let reason = std::io::Error::from_raw_os_error(-code).to_string();
    match -code {
        libc::ETIMEDOUT => {
            format!("no answer within {TIMEOUT_S} s; are its monitors up, and reached from here?")
        }
        libc::ENOENT => format!("{reason}; is the user's keyring where the configuration says?"),
        libc::EACCES | libc::EPERM => {
            format!(
                "{reason}; the user's capabilities do not allow it (`ceph auth get` shows them)"
            )
        }
        _ => reason,
    }
}
