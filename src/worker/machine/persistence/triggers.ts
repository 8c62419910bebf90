/** Ways to tell a dispatcher that there is a signal. */
import { createHash } from 'node:crypto';
import { mkdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fault } from '../../../core/errors.ts';
import type { SignalBackend, TriggerBackend } from './backends.ts';

/** Nobody is told: a dispatcher looks by itself. */
export class NoOpTrigger implements TriggerBackend {
  async notify(): Promise<void> {}
}

/** Touches a file for each channel, for what watches the folder (launchd, a path unit of systemd). */
export class FileTrigger implements TriggerBackend {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async notify(channel: string): Promise<void> {
    await mkdir(this.#folder, { recursive: true });
    const path = join(this.#folder, fileOf(channel));
    await writeFile(path, '', { flag: 'a' });
    const now = new Date();
    await utimes(path, now, now);
  }
}

/** A channel is any text, and a file is not. Long and odd ones have their hash at the end, so that no two share a file. */
function fileOf(channel: string): string {
  const plain = channel.replaceAll('/', '__');
  if (/^[\w-][\w.-]{0,119}$/.test(plain) && !channel.includes('__')) return plain;
  const hash = createHash('sha256').update(channel).digest('hex').slice(0, 16);
  return `${plain.replaceAll(/[^\w-]/g, '_').slice(0, 100)}-${hash}`;
}

/** A datagram on a socket of Unix. Node has none of those. */
export class SocketTrigger implements TriggerBackend {
  constructor(path: string) {
    throw fault(
      'INVALID_INPUT',
      {
        field: 'trigger socket',
        problem: `Node cannot send a datagram to the socket ${JSON.stringify(path.slice(0, 80))} of Unix`,
      },
      { hint: 'Use the trigger "file", whose folder a path unit of systemd or launchd can watch.' },
    );
  }

  async notify(): Promise<void> {}
}

/** Keeps the signal, then tells of it. That nobody could be told loses nothing; `onFailed` hears of it. */
export async function sendAndNotify(
  signals: Pick<SignalBackend, 'send'>,
  trigger: TriggerBackend,
  channel: string,
  data: unknown,
  onFailed: (error: unknown) => void = () => {},
): Promise<string> {
  const id = await signals.send(channel, data);
  try {
    await trigger.notify(channel);
  } catch (error) {
    onFailed(error);
  }
  return id;
}
