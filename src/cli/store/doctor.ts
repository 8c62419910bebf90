import type { Finding } from '../../app/doctor/finding.ts';
import { loadConfig } from '../../config/load.ts';
import { type Format, type Out, outFor } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { STORE_OPTIONS } from '../kit/operator-for.ts';

/** `leasehold doctor`. */
export const doctor: Command = {
  name: 'doctor',
  doc: 'Check this host and the store, and say what to do about what is wrong',
  args: [],
  options: ['artifactStore', ...STORE_OPTIONS],
  examples: [
    { line: 'doctor', does: 'look at the store in ./.leasehold' },
    {
      line: 'doctor --store sqlite:/var/lib/lh/work.db --json',
      does: 'one finding a line, for a monitor; status 1 when something fails',
    },
  ],

  async run(args) {
    const config = loadConfig(doctor, args);
    const out = outFor(config);
    const { examine } = await import('../../app/doctor/examine.ts');
    const counts = { ok: 0, warn: 0, fail: 0 };
    for await (const finding of examine(config.store, config.dataDir, config.artifactStore)) {
      counts[finding.verdict] += 1;
      tell(finding, out);
    }
    if (out.mode !== 'json') out.line(`${counts.ok} fine, ${counts.warn} to look at, ${counts.fail} failed.`);
    return counts.fail > 0 ? EXIT.failed : EXIT.fine;
  },
};

const VERDICT_STYLES: Readonly<Record<Finding['verdict'], readonly [symbol: string, colour: Format]>> = {
  ok: ['✓', 'green'],
  warn: ['!', 'yellow'],
  fail: ['✗', 'red'],
};
/** As wide as the longest check. */
const NAME = 12;

function tell(finding: Finding, out: Out): void {
  const { check, verdict, says, todo } = finding;
  if (out.mode === 'json') return out.json(finding);
  const [symbol, colour] = VERDICT_STYLES[verdict];
  const mark = out.mode === 'screen' ? out.paint(colour, symbol) : verdict.padEnd(4);
  out.line(`${mark} ${check.padEnd(NAME)} ${safeLine(says)}`);
  if (todo !== undefined)
    out.line(`${' '.repeat(out.mode === 'screen' ? 2 : 5)}${' '.repeat(NAME)} → ${safeLine(todo)}`);
}
