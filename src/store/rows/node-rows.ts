import type { NodeOverride, NodeRole } from '../../core/node.ts';
import type { ClusterSettingName, NodeDoing, NodeRecord, SecretPin } from '../store.ts';

/** A node without a beat for this long is forgotten. */
export const NODE_KEPT_MS = 24 * 3_600_000;

/** Records of nodes from rows whose columns have the same names in every store. */
export interface NodeRow {
  readonly id: string;
  readonly incarnation: string;
  readonly wish: string;
  readonly asked: string;
  readonly stand: string;
  readonly stand_since: number;
  readonly address: string | null;
  readonly version: string | null;
  readonly host: string | null;
  readonly pid: number | null;
  readonly started_at: number;
  readonly beat_at: number;
  readonly left_at: number | null;
}

export function nodeOf(row: NodeRow): NodeRecord {
  return {
    id: row.id,
    incarnation: row.incarnation,
    wish: row.wish as NodeRole,
    override: row.asked as NodeOverride,
    stand: row.stand as NodeDoing,
    standSince: row.stand_since,
    address: row.address ?? undefined,
    version: row.version ?? undefined,
    host: row.host ?? undefined,
    pid: row.pid ?? undefined,
    startedAt: row.started_at,
    beatAt: row.beat_at,
    left: row.left_at !== null,
  };
}

/** The key in `meta` of what is kept of the secret that the nodes share: its fingerprint, and behind a space `leasesBefore`. */
export const SECRET_PIN = 'cluster_secret';

/** The key in `meta` of a setting of the cluster. */
export const settingKey = (name: ClusterSettingName): string => `setting:${name}`;
/** Those that move with a store. */
export const SETTING_KEYS: readonly string[] = [settingKey('upgrade')];

export function secretPinOf(value: string): SecretPin {
  const [fingerprint = '', before] = value.split(' ');
  return { fingerprint, leasesBefore: before === undefined ? undefined : Number(before) };
}
