import type { Restored } from '../../app/upkeep/upkeep.ts';
import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import { formatTook } from '../display/time.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { formatCount } from '../kit/figures.ts';
import { STORE_OPTIONS } from '../kit/operator-for.ts';
import { copying, describeContents } from './copying.ts';

/** `leasehold restore FROM`. */
export const restore: Command = {
  name: 'restore',
  doc: 'Replace a store that no process has open by a backup',
  args: [{ name: 'FROM', doc: 'A file that "leasehold backup" made' }],
  options: ['force', 'keepTokens', ...STORE_OPTIONS],
  examples: [
    { line: 'restore /backups/work-monday.db', does: 'where there is no store in ./.leasehold' },
    { line: 'restore --force --store sqlite:work.db monday.db', does: 'replace the store that is there' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(restore, args);
    const [from] = words as [string];
    const out = outFor(config);
    const { upkeepOf } = await import('../../app/upkeep/upkeep.ts');
    const { makeFolderOf } = await import('../../app/data/data-folder.ts');
    const upkeep = upkeepOf(config.store);
    const copied = await copying(config, (options) =>
      upkeep.restore(from, { ...options, keepTokens: config.keepTokens }),
    );
    if ('stopped' in copied) {
      out.note('Stopped; the store was not touched.');
      return copied.stopped;
    }
    makeFolderOf(config.dataDir, config.store);
    const { result, tookMs } = copied;
    if (out.mode === 'json') out.json({ store: upkeep.store, from, ...result, tookMs });
    else {
      out.line(safeLine(`Restored ${upkeep.store} from ${from} in ${formatTook(tookMs)}.`));
      for (const line of describe(result)) out.line(line);
    }
    return EXIT.fine;
  },
};

function describe(result: Restored): readonly string[] {
  const { by, expired, tasks } = result;
  const lines = [
    `Checked: ${describeContents(result)}.`,
    `Ids and attempts go on ${formatCount(by)} further on, so that nothing handed out since the backup fits any more.`,
  ];
  if (expired > 0) lines.push(`${formatCount(expired)} tasks had to be started before now, and failed.`);
  lines.push(...describeAccess(result));
  if (tasks.running > 0)
    lines.push(
      `${formatCount(tasks.running)} tasks ran when the backup was made; a node takes them back and runs them again.`,
    );
  return lines;
}

/** Who could come in by the backup, and cannot now. */
function describeAccess({ ended, knewTokens }: Restored): readonly string[] {
  if (ended === undefined)
    return ['Tokens, secrets of workers and sessions of browsers are as they were in the backup.'];
  const { sessions, tokens, secrets, credentials } = ended;
  const all = `${formatCount(sessions)} sessions of browsers, ${formatCount(tokens)} tokens and ${formatCount(secrets)} secrets of workers`;
  return [
    knewTokens
      ? `Ended: ${all}. The store that was replaced knows the tokens and secrets that are left as good.`
      : `Ended: ${all}. No store was there to say which of them are still good; --keep-tokens would leave them.`,
    ...(credentials === 0
      ? []
      : [
          `Of ${formatCount(credentials)} credentials fewer workers are chosen now: "leasehold credentials grant" gives them again.`,
        ]),
    'The admin token of the data folder is as it was.',
  ];
}
