import { numbers } from '../arrays.ts';
import type { Session } from './database.ts';

const CHANNEL_LOCKS = 256;

/** All processes must agree, so this hash may never change (FNV-1a over UTF-16 units). */
function lockOf(channel: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < channel.length; i++) hash = Math.imul(hash ^ channel.charCodeAt(i), 0x01000193);
  return (hash >>> 0) % CHANNEL_LOCKS;
}

/**
 * A park and a signal on one channel both take this lock first, in a statement of its own, so that each sees what the
 * other has written. Without it both read before the other has written, and a wake-up is lost.
 */
export async function lockChannels(session: Session, channels: readonly string[]): Promise<void> {
  if (channels.length > 0) await session.rows('latchLock', [numbers([...new Set(channels.map(lockOf))])]);
}
