/** On Postgres a restore is done by its own tools. The commands that are printed around them end the same tokens. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { freshDatabase } from '../../../test/support/postgres.ts';
import { isEngineError } from '../../core/errors.ts';
import { hashOf, token } from '../../store/conformance/kit/token-scene.ts';
import { openStore } from '../store-url.ts';
import { realWorld } from '../world.ts';
import { upkeepOf } from './upkeep.ts';

test('the printed commands end sessions and every token that was not good before the restore', async (t) => {
  const url = `${await freshDatabase('upkeep')}&schema=restored`;
  const store = await openStore(url, { world: realWorld() });
  t.after(() => store.close());
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  t.after(() => client.end());
  const hint = await upkeepOf(url)
    .restore('x.dump', { force: true })
    .then(
      () => '',
      (error: unknown) => (isEngineError(error, 'INVALID_INPUT') ? (error.hint ?? '') : ''),
    );
  const [note, end, ...more] = [...hint.matchAll(/^psql .* -c '(.*)'$/gm)].map((line) =>
    (line[1] as string).replaceAll("'\\''", "'"),
  );
  assert.ok(note !== undefined && end !== undefined && more.length === 0, hint);
  const add = (text: string, ttlMs?: number) =>
    store.tokenAdd({ token: token(text, { kind: 'bearer', role: 'read', name: text, ttlMs }) });
  const [good] = [await add('good'), await add('short', 3_600_000)];
  const leaked = await add('leaked');
  await store.browserSessionAdd({ hash: hashOf('s'), began: { token: good.id }, ttlMs: 3_600_000, most: 9 });
  await store.tokenRevoke({ id: leaked.id });
  await client.query(note);
  // What the dump brings back: a token that was revoked since is good, and one that got an end has none.
  await client.query('UPDATE restored.entry_token SET revoked_at = NULL, expires_at = NULL');
  assert.ok(await store.tokenFind({ hash: hashOf('leaked') }));
  await client.query(end);
  assert.equal(await store.tokenFind({ hash: hashOf('leaked') }), undefined);
  assert.ok(await store.tokenFind({ hash: hashOf('good') }));
  assert.ok((await store.tokenFind({ hash: hashOf('short') }))?.expiresAt !== undefined);
  assert.equal(await store.browserSessionFind({ hash: hashOf('s') }), undefined);
  assert.ok((await add('next')).id > 1_000_000);
});
