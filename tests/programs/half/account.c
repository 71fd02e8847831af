// The account that main.c uses.
static int balance;

void add(int amount)
{
    balance += amount;
}
