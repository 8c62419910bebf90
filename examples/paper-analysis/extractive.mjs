/**
 * An analyst without a model: the sentences with the words that the paper uses most, in the order of the paper. Reads the prompt, of which the
 * paper is what follows the line "PAPER:", and answers with JSON.
 */
import { text } from 'node:stream/consumers';

const SENTENCES = 3;
const LONGEST_WORD = 40;
/** Words of fewer letters say nothing about a paper. */
const SHORTEST_WORD = 5;

const prompt = await text(process.stdin);
const paper = prompt.slice(prompt.indexOf('\nPAPER:\n') + '\nPAPER:\n'.length);
const sentences = paper
  .split(/\n\s*\n/)
  .flatMap((part) => part.replace(/\s+/g, ' ').match(/[^.!?]+[.!?]+/g) ?? [])
  .map((sentence) => sentence.trim())
  .filter((sentence) => sentence.length >= 40);
if (sentences.length === 0) {
  console.error('there is no whole sentence in it');
  process.exit(1);
}

const wordsOf = (sentence) =>
  (sentence.toLowerCase().match(/\p{L}+/gu) ?? []).filter(
    ({ length }) => length >= SHORTEST_WORD && length <= LONGEST_WORD,
  );
const counts = new Map();
for (const word of sentences.flatMap(wordsOf)) counts.set(word, (counts.get(word) ?? 0) + 1);
const weightOf = (sentence) => {
  const words = wordsOf(sentence);
  return words.reduce((sum, word) => sum + counts.get(word), 0) / (words.length + 5);
};
const chosen = sentences
  .map((sentence, place) => ({ sentence, place, weight: weightOf(sentence) }))
  .sort((a, b) => b.weight - a.weight || a.place - b.place)
  .slice(0, SENTENCES)
  .sort((a, b) => a.place - b.place)
  .map(({ sentence }) => sentence);
const key_points = [...counts]
  .sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1))
  .slice(0, SENTENCES)
  .map(([word, n]) => `${word} (${n} times)`);
console.log(JSON.stringify({ summary: chosen.join(' '), key_points, quotes: chosen }));
