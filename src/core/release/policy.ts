import { fault } from '../errors.ts';
import { commonProtocol, type ProtocolRange } from './link-protocol.ts';
import { checkReleaseVersion, compareReleases } from './release-version.ts';

/** Which worker should run which release. One for the whole cluster. */
export interface UpgradePolicy {
  /** Older workers are to go there. Undefined: nobody is sent anywhere. */
  readonly target?: string | undefined;
  /** The share of workers that go there, in percent; the others stay as they are. */
  readonly canary: number;
  /** Workers that stay as they are. */
  readonly pinned: readonly string[];
  /** Releases that get no work. */
  readonly refused: readonly string[];
}

export const NO_POLICY: UpgradePolicy = { canary: 100, pinned: [], refused: [] };

/** Fields that are not given stay as they are. */
export interface PolicyEdit {
  /** Null: nobody is sent anywhere any more. */
  readonly target?: string | null | undefined;
  readonly canary?: number | undefined;
  readonly pin?: readonly string[] | undefined;
  readonly unpin?: readonly string[] | undefined;
  readonly refuse?: readonly string[] | undefined;
  readonly allow?: readonly string[] | undefined;
}

const MOST_PINNED = 1000;
const MOST_REFUSED = 100;

export function editedPolicy(before: UpgradePolicy, edit: PolicyEdit): UpgradePolicy {
  const target = edit.target === undefined ? before.target : (edit.target ?? undefined);
  if (target !== undefined) checkReleaseVersion('target', target);
  const canary = edit.canary ?? before.canary;
  if (!Number.isInteger(canary) || canary < 0 || canary > 100)
    throw fault('INVALID_INPUT', { field: 'canary', problem: 'it is a share in percent, from 0 to 100' });
  const pinned = changed(before.pinned, edit.pin, edit.unpin);
  const refused = changed(before.refused, edit.refuse, edit.allow);
  for (const version of refused) checkReleaseVersion('refuse', version);
  if (target !== undefined && refused.includes(target))
    throw fault('INVALID_INPUT', { field: 'target', problem: `release ${target} is refused` });
  if (pinned.length > MOST_PINNED || refused.length > MOST_REFUSED)
    throw fault('INVALID_INPUT', {
      field: 'policy',
      problem: `at most ${MOST_PINNED} workers are pinned and ${MOST_REFUSED} releases refused`,
    });
  return { ...(target === undefined ? {} : { target }), canary, pinned, refused };
}

function changed(
  before: readonly string[],
  add: readonly string[] = [],
  remove: readonly string[] = [],
): readonly string[] {
  return [...new Set([...before, ...add])].filter((one) => !remove.includes(one)).toSorted();
}

/** What a worker says of its program when it comes. */
export interface Program {
  readonly name: string;
  /** Undefined: it is older than releases, or no program of ours. */
  readonly version?: string | undefined;
  readonly protocol?: ProtocolRange | undefined;
}

/** What the policy asks of a worker. */
export interface Wish {
  /** The release that it should run. Undefined with `must`: any other than its own. */
  readonly version?: string | undefined;
  /** It gets no work as it is. */
  readonly must: boolean;
}

/** What is asked of this worker; undefined: nothing. */
export function wishFor(policy: UpgradePolicy, { name, version, protocol }: Program): Wish | undefined {
  const { target, canary, pinned, refused } = policy;
  const must = commonProtocol(protocol) === undefined || (version !== undefined && refused.includes(version));
  const isOlder = target !== undefined && version !== undefined && compareReleases(version, target) < 0;
  if (must) return { must, version: isOlder ? target : undefined };
  if (!isOlder || pinned.includes(name) || bucketOf(name) >= canary) return undefined;
  return { must, version: target };
}

/** From 0 to 99, always the same for a name: who was among the first with one release is among them with the next. */
export function bucketOf(name: string): number {
  let hash = 0x811c9dc5;
  for (const char of name) hash = Math.imul(hash ^ (char.codePointAt(0) as number), 0x01000193) >>> 0;
  // Names that differ in their last letter alone would share most of the upper bits.
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> 0;
  return ((hash ^ (hash >>> 13)) >>> 0) % 100;
}
