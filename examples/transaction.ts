// A task that is pushed inside your own SQLite transaction exists when, and only when, that transaction commits: no order is
// without its mail, and no rolled-back order gets one.
import { DatabaseSync } from 'node:sqlite';
import { open, task } from 'leasehold';

const app = await open('sqlite:./shop.db');
const db = new DatabaseSync('./shop.db', { timeout: 5000 }); // your own handle, on the same file
db.exec('CREATE TABLE IF NOT EXISTS orders (item TEXT); DELETE FROM orders');

const sendMail = task('send-mail', {
  run(input) {
    return `mail about ${(input as { item: string }).item}`;
  },
});

async function order(item: string, fails = false) {
  db.exec('BEGIN IMMEDIATE');
  try {
    db.prepare('INSERT INTO orders VALUES (?)').run(item);
    const mail = await app.push(sendMail, { item }, { tx: db });
    if (fails) throw new Error('the card was refused');
    db.exec('COMMIT'); // commit soon: the file has no other writer meanwhile
    return mail;
  } catch (error) {
    db.exec('ROLLBACK');
    throw error;
  }
}

async function show(when: string): Promise<void> {
  const { orders } = db.prepare('SELECT count(*) AS orders FROM orders').get() as { orders: number };
  console.log(`${when}: ${orders} order, ${(await app.stats('send-mail')).ready} task`);
}

const mail = await order('a lamp');
await show('after the commit');

await order('a boat', true).catch((error: Error) => console.log(`rolled back: ${error.message}`));
await show('after the roll-back');

const worker = app.worker({ tasks: [sendMail] });
await worker.start();
console.log(await mail.result());

db.close();
await app.close();
