// Burns one core and says nothing more.
process.stdout.write('spinning\n');
for (;;);
