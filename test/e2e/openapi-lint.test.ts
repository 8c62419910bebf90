import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openApi } from '../../src/protocol/openapi.ts';
import { temporaryFolder } from '../support/leasehold.ts';

interface Report {
  readonly totals: { readonly errors: number; readonly warnings: number };
  readonly problems: readonly { readonly ruleId: string; readonly message: string }[];
}

/** What Redocly says of a document, by its strictest rules. It calls nobody. */
function lint(t: TestContext, document: unknown): Report {
  const cwd = temporaryFolder(t);
  writeFileSync(join(cwd, 'openapi.json'), JSON.stringify(document));
  const cli = join(dirname(createRequire(import.meta.url).resolve('@redocly/cli/package.json')), 'bin/cli.js');
  const args = [cli, 'lint', 'openapi.json', '--extends', 'recommended-strict', '--format', 'json'];
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', CI: 'true' };
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd, env, encoding: 'utf8' });
  assert.match(stdout, /^\{/, stderr);
  return JSON.parse(stdout) as Report;
}

const DOCUMENT = openApi({ version: '1.2.3', server: 'https://tasks.example.org' });

test('the document of the API is clean by the strictest rules of a linter', (t) => {
  const { totals, problems } = lint(t, DOCUMENT);
  assert.deepEqual(problems, []);
  assert.equal(totals.errors + totals.warnings, 0);
});

test('the linter would say so if it were not', (t) => {
  const paths = structuredClone(DOCUMENT['paths']) as Record<string, Record<string, Record<string, unknown>>>;
  const operation = paths['/api/v1/tasks']?.['post'];
  assert.ok(operation);
  operation['operationId'] = 'listTasks';
  operation['responses'] = {
    201: { description: 'Fine', content: { 'application/json': { schema: { $ref: '#/components/schemas/None' } } } },
  };
  const { problems } = lint(t, { ...DOCUMENT, paths });
  const rules = problems.map(({ ruleId }) => ruleId);
  assert.ok(rules.includes('operation-operationId-unique') && rules.includes('no-unresolved-refs'), rules.join());
});
