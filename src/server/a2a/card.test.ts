import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agentCard } from './card.ts';

const AT = { address: 'http://node', version: '1' };

test('each handler is a skill, in the order of their names', () => {
  const { skills, description } = agentCard({ ...AT, handlers: ['b', 'a'] });
  assert.deepEqual(
    skills.map(({ id }) => id),
    ['a', 'b'],
  );
  assert.doesNotMatch(description, /listed/);
});

test('a card has at most a hundred skills, says when there are more, and shows no long names', () => {
  const handlers = [...Array.from({ length: 250 }, (_, n) => `h${String(n).padStart(3, '0')}`), 'x'.repeat(64)];
  const { skills, description } = agentCard({ ...AT, handlers: handlers.toReversed() });
  assert.deepEqual([skills.length, skills[0]?.id, skills.at(-1)?.id], [100, 'h000', 'h099']);
  assert.match(description, /Only 100 of its 251 handlers are listed as skills\./);
  const long = agentCard({ ...AT, handlers: ['a', 'x'.repeat(64)] });
  assert.deepEqual([long.skills.length, /Only 1 of its 2/.test(long.description)], [1, true]);
});
