import type { NodeOverride } from '../../../../core/node.ts';
import { NODE_KEPT_MS, type NodeRow, nodeOf, SECRET_PIN, secretPinOf, settingKey } from '../../../rows/node-rows.ts';
import type { ClusterSettingName, DutyRecord, NodeAnswer, NodeBeat, NodeRecord, SecretPin } from '../../../store.ts';
import type { Prepared } from '../../file/connection.ts';
import type { Transaction } from '../../file/transaction.ts';

export function beatNode(tx: Transaction, beat: NodeBeat): NodeAnswer {
  const { id, incarnation, first, wish, stand, address = null, version = null, host = null, pid = null } = beat;
  const before = tx.sql.get('nodeGet').get(id) as NodeRow | undefined;
  const row = tx.sql
    .get('nodeBeat')
    .get(tx.now, tx.leaseNow, id, incarnation, first ? 1 : 0, wish, stand, address, version, host, pid);
  if (row === undefined) return { ok: false, host: before?.host ?? undefined, pid: before?.pid ?? undefined };
  const replaced = before?.incarnation === incarnation ? undefined : before?.incarnation;
  return { ok: true, override: (row as { asked: NodeOverride }).asked, replaced };
}

export function listNodes(sql: Prepared): readonly NodeRecord[] {
  return (sql.get('nodeList').all() as unknown as NodeRow[]).map(nodeOf);
}

export function leaveNode(tx: Transaction, id: string, incarnation: string): void {
  if (tx.sql.get('nodeDrop').run(id, incarnation).changes === 0) tx.sql.get('nodeLeft').run(tx.now, id, incarnation);
}

export function askNode(tx: Transaction, id: string, role: NodeOverride): boolean {
  const known = tx.sql.get('nodeRole').run(role, id).changes > 0;
  if (known && role === 'leader') tx.sql.get('nodeRoleOnce').run(id);
  return known;
}

export function pinSecret(tx: Transaction, fingerprint: string, replace: boolean): SecretPin | undefined {
  tx.sql.get('secretPin').run(SECRET_PIN, fingerprint, tx.now, replace ? 1 : 0);
  return readPin(tx.sql);
}

export function readPin(sql: Prepared): SecretPin | undefined {
  const row = sql.get('metaGet').get(SECRET_PIN) as { value: string } | undefined;
  return row && secretPinOf(row.value);
}

export function readSetting(sql: Prepared, name: ClusterSettingName): string | undefined {
  return (sql.get('metaGet').get(settingKey(name)) as { value: string } | undefined)?.value;
}

export function swapSetting(
  { sql }: Transaction,
  name: ClusterSettingName,
  before: string | undefined,
  value: string,
): boolean {
  const key = settingKey(name);
  const done =
    before === undefined ? sql.get('settingAdd').run(key, value) : sql.get('settingSwap').run(key, value, before);
  return done.changes > 0;
}

export function pruneNodes(tx: Transaction): void {
  tx.sql.get('nodePrune').run(tx.leaseNow - NODE_KEPT_MS);
}

export function listDuties(sql: Prepared): readonly DutyRecord[] {
  return (sql.get('dutyList').all() as unknown as DutyRecord[]).map(({ name, holder, epoch, until }) => ({
    name,
    holder,
    epoch,
    until,
  }));
}
