import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PatternError } from './parse.ts';
import { Regex } from './regex.ts';

const match = (pattern: string, text: string): readonly (string | undefined)[] | undefined =>
  new Regex(pattern).match(text, () => {})?.groups;

describe('a regular expression', () => {
  const patterns = [
    'a',
    'a*b',
    '^abc$',
    '(a|b)+c',
    'a{2,3}',
    'a{2}',
    'a{1,}b',
    '[a-c]+x?',
    '\\d+\\.\\d*',
    '\\bfoo\\b',
    '(\\w+)@(\\w+)\\.com',
    'a|ab',
    'ab|a',
    '(?:ab)*?c',
    '[^a]b',
    'x*',
    '(a*)(b*)',
    '.+',
    '.*?b',
    '^$',
    '(a)|(b)',
    'a.c',
    '[\\w-]+',
    '\\$\\{',
    '(a+)+$',
    'colou?r',
    '(foo|foobar)(bar)?',
    '(a{1,2}){2}',
    '\\s\\S',
    '\\Boo',
    '[\\d.]+',
    'a{x',
    '(?:a|b|c|d)+',
    'é+',
  ];
  const texts = [
    '',
    'a',
    'abc',
    'aab',
    'aaaab',
    'foo bar',
    'x foo y',
    'me@site.com',
    'ac',
    'abababc',
    'b',
    'bb',
    '3.14',
    'foobar',
    'foobarbar',
    'color',
    'a\nc',
    '${x}',
    'hello-world_1',
    'a{x',
    'abcdabcd',
    'aba',
    'ééa',
    '\u{1f600}a',
  ];
  for (const pattern of patterns) {
    test(`${pattern} finds what JavaScript finds`, () => {
      const theirs = new RegExp(pattern.replace('a{x', 'a\\{x'), 'u');
      for (const text of texts) {
        const found = theirs.exec(text);
        assert.deepEqual(
          match(pattern, text),
          found === null ? undefined : [...found],
          `${pattern} in ${JSON.stringify(text)}`,
        );
        assert.equal(
          new Regex(pattern).test(text, () => {}),
          found !== null,
        );
      }
    });
  }

  test('takes flags, names and classes of RE2', () => {
    assert.deepEqual(match('(?i)HeLLo (?P<who>\\pL+)', 'say hello Wörld!'), ['hello Wörld', 'Wörld']);
    assert.deepEqual(new Regex('(?<year>\\d{4})').match('in 2026', () => {})?.names, new Map([['year', '2026']]));
    assert.deepEqual(match('(?m)^b$', 'a\nb\nc'), ['b']);
    assert.deepEqual(match('(?s)a.b', 'a\nb'), ['a\nb']);
    assert.deepEqual(match('(?i:A)b', 'ab'), ['ab']);
    assert.equal(match('(?i:A)b', 'aB'), undefined);
    assert.deepEqual(match('[[:alpha:]]+[[:^digit:]]', '12ab!'), ['ab!']);
    assert.deepEqual(match('\\x41\\x{1F600}', 'A\u{1f600}'), ['A\u{1f600}']);
    assert.deepEqual(match('\\p{Greek}+', 'abc αβγ'), ['αβγ']);
    assert.deepEqual(match('\\P{L}+', 'ab12'), ['12']);
    assert.deepEqual(match('(?U)a+', 'aaa'), ['a']);
    assert.deepEqual(match('\\Aa\\z', 'a'), ['a']);
    assert.equal(match('(?i)[^a]', 'A'), undefined);
    assert.deepEqual(match('[]a]+', ']a'), [']a']);
    // A group keeps what it took part in last, as in RE2 and Python; JavaScript forgets it.
    assert.deepEqual(match('((a)(b)?)+', 'aba'), ['aba', 'a', 'a', 'b']);
  });

  const wrong = [
    '(?=a)',
    '(?!a)',
    '(?<!a)',
    '(?<=a)',
    '\\1',
    'a**',
    '*a',
    '(',
    ')',
    '[a',
    'a{1001}',
    'a{3,2}',
    '\\k',
    '\\p{Nope}',
    '[z-a]',
    '(?P<>a)',
    '[[:nope:]]',
    '\\',
    '\\x{FFFFFFF}',
    '(((((a{99}){99}){99}){99}){99})',
    `${'('.repeat(200)}a${')'.repeat(200)}`,
    'a'.repeat(1001),
  ];
  for (const pattern of wrong) {
    test(`${pattern.slice(0, 40)} is refused`, () => assert.throws(() => new Regex(pattern), PatternError));
  }

  test('takes work that grows with the text only, whatever the pattern', () => {
    const workOf = (pattern: string, length: number): number => {
      let work = 0;
      new Regex(pattern).test(`${'a'.repeat(length)}!`, (instructions) => {
        work += instructions;
      });
      return work;
    };
    for (const pattern of ['(a+)+$', '(a|a)*$', '(a*)*b', '(a?){30}a{30}$', '(.*)(.*)(.*)(.*)x$']) {
      const [short, long] = [workOf(pattern, 100), workOf(pattern, 1000)];
      assert.ok(long < short * 12, `${pattern}: ${short}, ${long}`);
    }
  });
});
