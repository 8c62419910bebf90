import type { NodeOverride } from '../../../../core/node.ts';
import { type NodeRow, nodeOf, SECRET_PIN, secretPinOf, settingKey } from '../../../rows/node-rows.ts';
import type {
  ClusterSettingName,
  DutyRecord,
  DutySnapshot,
  NodeAnswer,
  NodeBeat,
  NodeSnapshot,
  SecretPin,
} from '../../../store.ts';
import type { Session } from '../../connect/database.ts';
import type { FlushId } from '../../push-dedup.ts';
import { once } from '../queue/once.ts';

export async function beatNode(session: Session, beat: NodeBeat): Promise<NodeAnswer> {
  const { id, incarnation, first, wish, stand, address = null, version = null, host = null, pid = null } = beat;
  const values = [id, incarnation, first, wish, stand, address, version, host, pid];
  const [row] = await session.all<{ asked: NodeOverride; before: string | null }>('nodeBeat', values);
  if (row !== undefined) {
    const replaced = row.before === null || row.before === incarnation ? undefined : row.before;
    return { ok: true, override: row.asked, replaced };
  }
  const [newer] = await session.all<NodeRow>('nodeGet', [id]);
  return { ok: false, host: newer?.host ?? undefined, pid: newer?.pid ?? undefined };
}

/** A row of an outer join, so that the time is there even without nodes. */
type Timed<T> = { readonly now: number } & (T | { readonly [K in keyof T]: null });

export async function listNodes(session: Session): Promise<NodeSnapshot> {
  const rows = await session.all<Timed<NodeRow>>('nodeList', []);
  const nodes = rows.flatMap((row) => (row.id === null ? [] : [nodeOf(row as NodeRow)]));
  return { now: (rows[0] as { now: number }).now, nodes };
}

/** A role that is asked of it meanwhile is kept: the second statement sees what the first has left. */
export async function leaveNode(session: Session, id: string, incarnation: string): Promise<void> {
  await session.rows('nodeDrop', [id, incarnation]);
  await session.rows('nodeLeft', [id, incarnation]);
}

export async function askNode(session: Session, id: string, role: NodeOverride): Promise<boolean> {
  return (await session.rows('nodeRole', [id, role])).length > 0;
}

/** May be repeated. Read by a second statement, which also sees what another process has kept meanwhile. */
export async function pinSecret(
  session: Session,
  fingerprint: string | undefined,
  replace: boolean,
): Promise<SecretPin | undefined> {
  if (fingerprint !== undefined) await session.rows('secretPin', [SECRET_PIN, fingerprint, replace]);
  const [row] = await session.all<{ value: string }>('secretPinned', [SECRET_PIN]);
  return row && secretPinOf(row.value);
}

export async function readSetting(session: Session, name: ClusterSettingName): Promise<string | undefined> {
  return (await session.all<{ value: string }>('secretPinned', [settingKey(name)]))[0]?.value;
}

/** A repeat after a lost answer finds its own text, and is answered as the first try was. */
export function swapSetting(
  session: Session,
  flushId: FlushId,
  { name, before, value }: { name: ClusterSettingName; before: string | undefined; value: string },
): Promise<boolean> {
  const key = settingKey(name);
  return once(session, 'setting', flushId, async () => {
    const rows =
      before === undefined
        ? session.rows('settingAdd', [key, value])
        : session.rows('settingSwap', [key, value, before]);
    return (await rows).length > 0;
  });
}

export async function listDuties(session: Session): Promise<DutySnapshot> {
  const rows = await session.all<Timed<DutyRecord>>('dutyList', []);
  const duties = rows.flatMap(({ name, holder, epoch, until }) =>
    name === null ? [] : [{ name, holder, epoch, until } as DutyRecord],
  );
  return { now: (rows[0] as { now: number }).now, duties };
}
