import { loadCall } from '../../config/load.ts';
import { outFor } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import { formatTook } from '../display/time.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { STORE_OPTIONS } from '../kit/operator-for.ts';
import { copying, describeContents } from './copying.ts';

/** `leasehold backup TO`. */
export const backup: Command = {
  name: 'backup',
  doc: 'Back up a store, while it is in use, into one checked file',
  args: [{ name: 'TO', doc: 'The file to create' }],
  options: ['force', ...STORE_OPTIONS],
  examples: [
    { line: 'backup /backups/work-monday.db', does: 'copy the store in ./.leasehold; nobody has to stop' },
    { line: 'backup --store sqlite:work.db --force latest.db --json', does: 'replace the last one, as a timer would' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(backup, args);
    const [to] = words as [string];
    const out = outFor(config);
    const { upkeepOf } = await import('../../app/upkeep/upkeep.ts');
    const upkeep = upkeepOf(config.store);
    const copied = await copying(config, (options) => upkeep.backup(to, options));
    if ('stopped' in copied) {
      out.note('Stopped; no backup was made.');
      return copied.stopped;
    }
    const { result, tookMs } = copied;
    if (out.mode === 'json') out.json({ store: upkeep.store, to, ...result, tookMs });
    else {
      out.line(safeLine(`Backed up ${upkeep.store} to ${to} in ${formatTook(tookMs)}.`));
      out.line(`Checked: ${describeContents(result)}.`);
    }
    return EXIT.fine;
  },
};
