import { once } from 'node:events';
import { loadCall } from '../../config/load.ts';
import type { Config } from '../../config/options.ts';
import type { Operator } from '../../operate/operator.ts';
import type { ArtifactView } from '../../operate/views.ts';
import { outFor } from '../display/out.ts';
import type { Progress } from '../display/progress.ts';
import { safeLine } from '../display/safe.ts';
import type { Command } from '../kit/command.ts';
import { EXIT, exitCodeOfSignal } from '../kit/exit.ts';
import { formatBytes } from '../kit/figures.ts';
import { BYTES_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { progressFor } from '../kit/progress-for.ts';
import { onStopSignals } from '../kit/stop-signals.ts';
import { ARTIFACT } from './words.ts';

/** `leasehold artifacts get ARTIFACT`. */
export const get: Command = {
  name: 'artifacts get',
  doc: 'Fetch the bytes of an artifact into a file, which is there only when all of them are right',
  args: [ARTIFACT],
  options: ['saveAs', 'force', ...BYTES_OPTIONS],
  examples: [
    {
      line: 'artifacts get art_0123456789abcdef0123456789abcdef',
      does: 'into a file of its own name, in this folder',
    },
    {
      line: 'artifacts get art_0123456789abcdef0123456789abcdef -o - | tar -t',
      does: 'to another program; status 1 if they were not the right bytes in the end',
    },
  ],

  async run(args) {
    const { config, args: words } = loadCall(get, args);
    const [id] = words as [string];
    const stopped = Promise.withResolvers<number>();
    const over = new AbortController();
    const unlisten = onStopSignals({
      stop: () => {
        stopped.resolve(EXIT.interrupted);
        over.abort();
      },
      force: (signal) => process.exit(exitCodeOfSignal(signal)),
    });
    try {
      return await withOperator(config, (operator) => fetchBytes(operator, id, config, over.signal));
    } catch (error) {
      if (over.signal.aborted) return stopped.promise;
      throw error;
    } finally {
      unlisten();
    }
  },
};

async function fetchBytes(operator: Operator, id: string, config: Config, signal: AbortSignal): Promise<number> {
  const artifact = await operator.call('getArtifact', { params: { id } });
  const { saveAs: path = lastPart(artifact), force } = config;
  const progress = progressFor(config, 'fetched', artifact.size, formatBytes);
  const bytes = operator.bytes(artifact, { signal });
  try {
    if (path === '-') {
      await print(bytes, progress);
      return EXIT.fine;
    }
    const { saveBytes } = await import('../../app/artifacts/save.ts');
    let before = 0;
    await saveBytes(bytes, path, {
      overwrite: force,
      onProgress: (count) => {
        progress.add(count - before);
        before = count;
      },
    });
  } finally {
    progress.end();
  }
  const out = outFor(config);
  if (out.mode === 'json') out.json({ ...artifact, path });
  else out.line(`Saved ${formatBytes(artifact.size)} as ${safeLine(path)}.`);
  return EXIT.fine;
}

/** Names of artifacts are checked where they are made: no part of one leads elsewhere. */
function lastPart({ name }: ArtifactView): string {
  const part = name.slice(name.lastIndexOf('/') + 1).replaceAll(/[\\\p{Cc}]/gu, '_');
  return part === '' || part === '.' || part === '..' ? 'artifact' : `./${part}`;
}

async function print(bytes: AsyncIterable<Uint8Array>, progress: Progress): Promise<void> {
  const { stdout } = process;
  for await (const chunk of bytes) {
    progress.add(chunk.length);
    if (!stdout.write(chunk)) await once(stdout, 'drain');
  }
}
