import { accessSync, constants, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { type OwnFiles, openToOthers } from '../data/data-folder.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

/** The same bounds as in bin/leasehold.js, which does not start without them. */
export function checkRuntime(versions: {
  readonly node: string;
  readonly sqlite?: string;
}): readonly [Finding, Finding] {
  const { node, sqlite = '0' } = versions;
  return [
    Number.parseInt(node, 10) >= 24
      ? ok('node', `Node ${node}`)
      : fail('node', `Node ${node} is too old`, 'Install Node 24 or newer.'),
    isAtLeast(sqlite, [3, 51, 3])
      ? ok('sqlite', `SQLite ${sqlite}`)
      : fail(
          'sqlite',
          `SQLite ${sqlite} can damage a file that several processes write`,
          'Install the newest Node 24.',
        ),
  ];
}

function isAtLeast(version: string, bound: readonly number[]): boolean {
  const have = version.split('.').map(Number);
  const differs = bound.findIndex((part, i) => part !== (have[i] ?? 0));
  return differs === -1 || (have[differs] ?? 0) > (bound[differs] as number);
}

/** Whether this user can work with the files: the database, and its log and index beside it. */
export function checkPermissions(file: string): Finding {
  const folder = dirname(file);
  const denied = [file, `${file}-wal`, `${file}-shm`].filter((path) => exists(path) && !isAllowed(path));
  if (denied.length > 0) {
    return fail(
      'permissions',
      `this user may not write ${denied.join(', ')}`,
      `Give the files to this user: chown or chmod ${denied.join(' ')}`,
    );
  }
  if (!isAllowed(folder)) {
    return fail(
      'permissions',
      `this user may not write into ${folder}, where the log of the store lies`,
      `chown or chmod ${folder}`,
    );
  }
  const loose = [folder, file].filter(
    (path) => (statSync(path).mode & 0o002) !== 0 && (statSync(path).mode & 0o1000) === 0,
  );
  if (loose.length > 0) {
    return warn(
      'permissions',
      `every user of this host may change ${loose.join(', ')}`,
      `chmod o-w ${loose.join(' ')}`,
    );
  }
  return ok('permissions', 'this user may read and write the files');
}

/** Whether users besides the owner can get at what is in the data folder, or at a store elsewhere. */
export function checkPrivacy(files: OwnFiles): Finding {
  const open = openToOthers(files);
  if (open.length === 0)
    return ok('privacy', 'no other user may read the store, its backups here, or the secrets beside it');
  const words = open.map((path) => (/^[\w./:@-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`));
  return warn('privacy', `other users of this host may get at ${open.join(', ')}`, `chmod go= ${words.join(' ')}`);
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

function isAllowed(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Magic numbers of Linux (statfs(2)). SQLite needs working locks and shared memory, which these file systems do not promise. */
const NETWORK: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB2'],
  [0x517b, 'SMB'],
  [0x01021997, '9P'],
  [0x00c36400, 'Ceph'],
  [0x5346414f, 'AFS'],
  [0x0bd00bd0, 'Lustre'],
  [0x47504653, 'GPFS'],
]);
const FUSE = 0x65735546;
const TMPFS = 0x01021994;

export function judgeFileSystem(type: number, platform: string): Finding {
  const check = 'file system';
  if (platform !== 'linux') return ok(check, 'its kind is not known on this system; it must be a local disk');
  const network = NETWORK.get(type >>> 0);
  if (network !== undefined) {
    return warn(
      check,
      `${network} is a network mount, on which SQLite may lose or damage data`,
      'Move the store to a local disk: --store sqlite:PATH.',
    );
  }
  if (type === FUSE) {
    return warn(
      check,
      'FUSE may be a network mount, on which SQLite may lose or damage data',
      'Make sure that it is a local disk, or move the store to one.',
    );
  }
  if (type === TMPFS)
    return warn(check, 'tmpfs is gone after a restart', 'Move the store to a disk, unless it may be lost.');
  return ok(check, 'a local one, as far as is known');
}

export function checkFileSystem(file: string): Finding {
  return judgeFileSystem(statfsSync(dirname(file)).type, process.platform);
}

const FULL_BYTES = 50e6;
const NEARLY_FULL_BYTES = 1e9;

export function checkSpace(file: string): Finding {
  const { bavail, bsize } = statfsSync(dirname(file));
  return judgeSpace(bavail * bsize);
}

export function judgeSpace(bytes: number): Finding {
  const says = `${megabytes(bytes)} free on the disk of the store`;
  const todo = 'Free some space, or shorten --retention; a full disk refuses every write.';
  if (bytes < FULL_BYTES) return fail('disk space', says, todo);
  return bytes < NEARLY_FULL_BYTES ? warn('disk space', says, todo) : ok('disk space', says);
}

const LONG_LOG_BYTES = 100e6;

/** Checkpoints move the write-ahead log into the file all the time. A log that grows is held by a reader. */
export function checkLog(file: string): Finding {
  const size = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size;
  return judgeLog(size);
}

export function judgeLog(bytes: number | undefined): Finding {
  if (bytes === undefined) return ok('log', 'none: nobody has the store open');
  const says = `${megabytes(bytes)} of write-ahead log`;
  if (bytes < LONG_LOG_BYTES) return ok('log', says);
  return warn(
    'log',
    says,
    'A process reads for very long, or no node is up. End what reads (sqlite3 shells, backups), or start one.',
  );
}

function megabytes(bytes: number): string {
  if (bytes >= 1e9) return `${(bytes / 1e9).toFixed(1)} GB`;
  return bytes >= 1e6 ? `${Math.round(bytes / 1e6)} MB` : `${Math.round(bytes / 1e3)} kB`;
}
