import { inRange, parseRange } from '../placement/version.ts';
import { commonProtocol, type ProtocolRange } from './link-protocol.ts';
import type { Manifest } from './manifest.ts';
import { compareReleases } from './release-version.ts';

/** What an updater knows when it is shown a release whose signature is good. */
export interface Known {
  /** Calendar time. */
  readonly now: number;
  /** The version of Node here. */
  readonly node: string;
  /** The newest release that was ever installed here; undefined: this is the first. */
  readonly newest: string | undefined;
  /** No older release than this one is taken. */
  readonly floor: string | undefined;
  /** Of the node that shows it, where it is known. */
  readonly protocol?: ProtocolRange | undefined;
}

/** A clock that is behind makes new releases look as if they came from tomorrow. */
const CLOCK_SLACK_MS = 24 * 3_600_000;

/** Why the release is not taken; undefined: it is. */
export function objection(release: Manifest, { now, node, newest, floor, protocol }: Known): string | undefined {
  const { version, expires, created, minVersion } = release;
  if (now >= expires) return `release ${version} has expired`;
  if (created - now > CLOCK_SLACK_MS) return `release ${version} is from the future: is the clock of this host right?`;
  if (newest !== undefined && compareReleases(version, newest) <= 0)
    return `release ${version} is not newer than ${newest}, which was installed here`;
  if (floor !== undefined && compareReleases(version, floor) < 0)
    return `release ${version} is older than ${floor}, the oldest that may still be installed`;
  if (compareReleases(version, minVersion) < 0) return `release ${version} is older than it allows itself to be`;
  if (!inRange(parseRange('manifest', release.node), node))
    return `release ${version} needs Node ${release.node}, and this is ${node}`;
  if (protocol !== undefined && commonProtocol(release.protocol, protocol) === undefined)
    return `release ${version} does not speak the protocol of the node`;
  return undefined;
}
