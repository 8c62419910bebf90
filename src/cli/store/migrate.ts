import type { MigrationView, SchemaView } from '../../app/upkeep/upkeep.ts';
import { loadConfig } from '../../config/load.ts';
import { fault } from '../../core/errors.ts';
import { type Out, outFor } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import { formatTook } from '../display/time.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { STORE_OPTIONS } from '../kit/operator-for.ts';
import { runMove } from './migrate-move.ts';

/** `leasehold migrate`. */
export const migrate: Command = {
  name: 'migrate',
  doc: 'Bring the tables of a store up to the version of this program, or move a store to Postgres',
  args: [],
  options: ['dryRun', 'from', 'to', ...STORE_OPTIONS],
  examples: [
    { line: 'migrate --dry-run', does: 'what would run, and whether older processes can go on beside it' },
    { line: 'migrate --store sqlite:/var/lib/lh/work.db', does: 'run it now, and not when the first process opens it' },
    {
      line: 'migrate --from sqlite:work.db --to postgres://me@db/work',
      does: 'move everything; the file is closed for good',
    },
  ],

  async run(args) {
    const config = loadConfig(migrate, args);
    const out = outFor(config);
    const { from, to } = config;
    if (from !== undefined && to !== undefined) return runMove(config, from, to);
    if (from !== undefined || to !== undefined) throw oneAlone(from === undefined ? '--to' : '--from');
    const { upkeepOf } = await import('../../app/upkeep/upkeep.ts');
    const upkeep = upkeepOf(config.store);
    const view = await upkeep.schema();
    if (out.mode !== 'json') for (const line of describe(view)) out.line(line);
    const ran: (MigrationView & { readonly tookMs: number })[] = [];
    if (!config.dryRun && view.migrations.length > 0) {
      let startedAt = performance.now();
      await upkeep.migrate((migration) => {
        const tookMs = Math.round(performance.now() - startedAt);
        startedAt = performance.now();
        ran.push({ ...migration, tookMs });
        tell(`Ran ${migration.name} in ${formatTook(tookMs)}.`, out);
      });
    }
    if (out.mode === 'json')
      out.json({ ...view, migrations: config.dryRun ? view.migrations : ran, dryRun: config.dryRun });
    else out.line(closing(view, ran.length, config.dryRun));
    return EXIT.fine;
  },
};

function oneAlone(field: string): Error {
  const hint = 'Give both to move a store: --from sqlite:PATH --to postgres://USER@HOST/DATABASE.';
  return fault('INVALID_INPUT', { field, problem: 'it is given without the other' }, { hint });
}

function tell(line: string, out: Out): void {
  if (out.mode !== 'json') out.line(line);
}

function describe({ store, found, known, migrations }: SchemaView): readonly string[] {
  const stands = found === 0 ? 'has no tables of leasehold yet' : `has schema version ${found}`;
  return [
    safeLine(`${store} ${stands}; this program knows version ${known}.`),
    ...migrations.map(
      ({ name, compatibleFrom, oldProcessesGoOn }) =>
        `  ${name}  compatible from version ${compatibleFrom}: processes of the version before ${oldProcessesGoOn ? 'can go on beside it' : 'must be stopped first'}`,
    ),
  ];
}

function closing({ found, known, migrations }: SchemaView, ran: number, dryRun: boolean): string {
  if (found > known)
    return 'Nothing to do: the store is newer, and this program can still work on it. Upgrade it soon.';
  if (migrations.length === 0) return 'Nothing to do.';
  if (dryRun) return `Nothing was changed; ${migrations.length} to run.`;
  // Another process may have opened the store in between, and migrated it.
  return ran === 0
    ? `Another process was quicker: the store has version ${known} now.`
    : `The store has version ${known} now.`;
}
