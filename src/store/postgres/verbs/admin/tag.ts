import type { TagChanged, TagRecord } from '../../../store.ts';
import { lockChannels } from '../../connect/channel-locks.ts';
import type { Session } from '../../connect/database.ts';
import { listSettings } from '../queue/worker-setting.ts';
import { isChosenBy, lockCredentials, retagCredentials, setNamed } from './credential.ts';

/** In a transaction, as all that write. */
export async function addTag(
  session: Session,
  { name, by }: { readonly name: string; readonly by: string },
): Promise<boolean> {
  return (await session.rows('tagAdd', [name, by])).length > 0;
}

export function listTags(session: Session): Promise<readonly TagRecord[]> {
  return session.all<TagRecord>('tagList', []);
}

export async function renameTag(
  session: Session,
  { from, to, by }: { readonly from: string; readonly to: string; readonly by: string },
): Promise<TagChanged> {
  await lockTags(session);
  const workers = await carriers(session, from);
  if (!(await isMade(session, from)) && workers.length === 0) return { kind: 'none', workers };
  const isTaken = (await isMade(session, to)) || (await carriers(session, to)).length > 0;
  if (isTaken || (await isChosenBy(session, to))) return { kind: 'taken', workers };
  await session.rows('tagDrop', [from]);
  await addTag(session, { name: to, by });
  await retagCredentials(session, from, to);
  for (const name of workers) await setNamed(session, { name, addTags: [to], removeTags: [from] });
  return { kind: 'done', workers };
}

export async function removeTag(
  session: Session,
  { name, force }: { readonly name: string; readonly force: boolean },
): Promise<TagChanged> {
  await lockTags(session);
  const workers = await carriers(session, name);
  if (!(await isMade(session, name)) && workers.length === 0) return { kind: 'none', workers };
  if (workers.length > 0 && !force) return { kind: 'used', workers };
  await session.rows('tagDrop', [name]);
  for (const worker of workers) await setNamed(session, { name: worker, removeTags: [name] });
  return { kind: 'done', workers };
}

/** Changes of tags that lock several workers come one after the other, so that they never wait for each other in a circle. */
const lockTags = async (session: Session): Promise<void> => {
  await lockChannels(session, ['tags']);
  await lockCredentials(session);
};

const isMade = async (session: Session, name: string): Promise<boolean> =>
  (await session.rows('tagFind', [name])).length > 0;

async function carriers(session: Session, tag: string): Promise<readonly string[]> {
  return (await listSettings(session)).filter(({ tags }) => tags.includes(tag)).map(({ name }) => name);
}
