import type { TagChanged, TagRecord } from '../../../store.ts';
import type { Prepared } from '../../file/connection.ts';
import type { Transaction } from '../../file/transaction.ts';
import { listSettings } from '../queue/worker-setting.ts';
import { isChosenBy, retagCredentials, setNamed } from './credential.ts';

export function addTag(
  { sql, now }: Transaction,
  { name, by }: { readonly name: string; readonly by: string },
): boolean {
  return sql.get('tagAdd').run(name, now, by).changes > 0;
}

export function listTags(sql: Prepared): readonly TagRecord[] {
  return sql.get('tagList').all() as unknown as TagRecord[];
}

export function renameTag(
  tx: Transaction,
  { from, to, by }: { readonly from: string; readonly to: string; readonly by: string },
): TagChanged {
  const workers = carriers(tx.sql, from);
  if (!isMade(tx.sql, from) && workers.length === 0) return { kind: 'none', workers };
  if (isMade(tx.sql, to) || carriers(tx.sql, to).length > 0 || isChosenBy(tx.sql, to))
    return { kind: 'taken', workers };
  tx.sql.get('tagDrop').run(from);
  addTag(tx, { name: to, by });
  retagCredentials(tx, from, to);
  for (const name of workers) setNamed(tx, { name, addTags: [to], removeTags: [from] });
  return { kind: 'done', workers };
}

export function removeTag(
  tx: Transaction,
  { name, force }: { readonly name: string; readonly force: boolean },
): TagChanged {
  const workers = carriers(tx.sql, name);
  if (!isMade(tx.sql, name) && workers.length === 0) return { kind: 'none', workers };
  if (workers.length > 0 && !force) return { kind: 'used', workers };
  tx.sql.get('tagDrop').run(name);
  for (const worker of workers) setNamed(tx, { name: worker, removeTags: [name] });
  return { kind: 'done', workers };
}

const isMade = (sql: Prepared, name: string): boolean => sql.get('tagFind').get(name) !== undefined;

function carriers(sql: Prepared, tag: string): readonly string[] {
  return listSettings(sql)
    .filter(({ tags }) => tags.includes(tag))
    .map(({ name }) => name);
}
