net asymmetric
{
// property softwar aGrUM 3.3.1

	node b
	{
		TYPE = CPT;
		HEADER =
		{
			ID = b;
			NAME = "b";
		};
		PARENTS = ();
		DEFINITION =
		{
			NAMESTATES = (low, mid, high);
			PROBABILITIES = (0.5, 0.3, 0.2);
		};
	};

	node a
	{
		TYPE = CPT;
		HEADER =
		{
			ID = a;
			NAME = "a";
		};
		PARENTS = ();
		DEFINITION =
		{
			NAMESTATES = (no, yes);
			PROBABILITIES = (0.25, 0.75);
		};
	};

	node c
	{
		TYPE = CPT;
		HEADER =
		{
			ID = c;
			NAME = "c";
		};
		PARENTS = (b, a);
		DEFINITION =
		{
			NAMESTATES = (s1, s2, s3, s4);
			PROBABILITIES = (0.1, 0.2, 0.3, 0.4, 0.13, 0.26, 0.27, 0.34, 0.11, 0.22, 0.29, 0.38, 0.14, 0.28, 0.26, 0.32, 0.12, 0.24, 0.28, 0.36, 0.15, 0.3, 0.25, 0.3);
		};
	};

};